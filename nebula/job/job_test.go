package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forgekernel/nebula/engine"
	"forgekernel/nebula/model"
	"forgekernel/nebula/sample"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
	"forgekernel/nebula/shard"
)

// TestMain lets the test binary be a rank of the jobs that tests start, and a
// process that starts a job.
func TestMain(m *testing.M) {
	switch {
	case slices.Equal(os.Args[1:], Command):
		exit(rankMain())
	case len(os.Args) == 3 && os.Args[1] == kernelCommand:
		exit(kernelMain(os.Args[2]))
	}
	folder, err := os.MkdirTemp("", "job-test-")
	if err != nil {
		exit(err)
	}
	os.Setenv("XDG_RUNTIME_DIR", folder)
	status := m.Run()
	if left, _ := filepath.Glob(folder + "/*/*"); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "records are left: %v\n", left)
		status = 1
	}
	os.RemoveAll(folder)
	os.Exit(status)
}

// exit ends a process that is no test.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

var tasks = map[string]serve.Task{
	"pid": func(context.Context, *serve.Local, json.RawMessage) (any, error) { return os.Getpid(), nil },
}

// small is a model that two and four ranks can have.
var small = model.Config{
	Family: "tiny", Vocab: 61, Hidden: 24, Layers: 3, Heads: 4, KVHeads: 2, HeadDim: 4, FF: 28, Context: 64, Eps: 1e-5,
}

func tiny(t testing.TB) *model.Model {
	t.Helper()
	return seeded(t, model.TinyDecoder())
}

func seeded(t testing.TB, c model.Config) *model.Model {
	t.Helper()
	m, err := model.Seeded(c, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func spec(tp, pp int) Spec {
	return Spec{
		Layout: shard.Layout{TP: tp, PP: pp}, Backend: "interp", Threads: 1, Deadline: 10 * time.Second, // for healthy ones on a busy machine
		Engine: engine.Options{BlockSize: 8, Blocks: 32, Context: 64, MaxRows: 4, MaxTokens: 32},
	}
}

// running is a job of processes, of which none is left at the end.
func running(t *testing.T, m *model.Model, s Spec) *Processes {
	t.Helper()
	p, err := Start(t.Context(), m, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if n := len(p.Exits()); n != s.Layout.Ranks() {
			t.Errorf("%d of %d ranks have ended", n, s.Layout.Ranks())
		}
	})
	return p
}

func generate(t *testing.T, s serve.Service, prompt []int32, n int) ([]int32, *sched.Finish) {
	t.Helper()
	stream, err := s.Submit(t.Context(), sched.Request{Prompt: prompt, Params: sample.Params{MaxTokens: n}})
	if err != nil {
		return nil, &sched.Finish{Reason: sched.Failed, Err: err}
	}
	var list []int32
	for e := range stream.Events() {
		if e.Finish != nil {
			return list, e.Finish
		}
		list = append(list, e.Token)
	}
	return list, nil
}

// reference is the answer of one rank to a prompt.
func reference(prompt []int32) (list []int32, err error) {
	m, err := model.Seeded(small, 3)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	one, err := Local(context.Background(), m, spec(1, 1), nil)
	if err != nil {
		return nil, err
	}
	defer one.Close()
	stream, err := one.Submit(context.Background(), sched.Request{Prompt: prompt, Params: sample.Params{MaxTokens: answered}})
	if err != nil {
		return nil, err
	}
	for e := range stream.Events() {
		if e.Finish == nil {
			list = append(list, e.Token)
		} else {
			err = e.Finish.Err
		}
	}
	return list, err
}

// TestLayouts compares processes with goroutines and with one rank.
func TestLayouts(t *testing.T) {
	m := tiny(t)
	prompt := []int32{5, 3, 9, 1, 1, 2}
	one, err := Local(t.Context(), m, spec(1, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := generate(t, one, prompt, 12)
	if err := one.Close(); err != nil || len(want) != 12 {
		t.Fatalf("%v, %v", want, err)
	}
	for _, l := range []shard.Layout{{TP: 2, PP: 1}, {TP: 1, PP: 2}, {TP: 2, PP: 2}, {TP: 3, PP: 1}} {
		p := running(t, m, spec(l.TP, l.PP))
		got, f := generate(t, p, prompt, 12)
		if !slices.Equal(got, want) || f.Reason != sched.Length {
			t.Errorf("%v gives %v, not %v; %+v", l, got, want, f)
		}
		d, err := p.Describe(t.Context(), l.Ranks()-1)
		if err != nil || d.Stage != l.PP-1 {
			t.Errorf("rank %d says %+v, %v", l.Ranks()-1, d, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoStart checks what is said when a job cannot be.
func TestNoStart(t *testing.T) {
	m := tiny(t)
	if _, err := Start(t.Context(), m, spec(5, 1)); err == nil || !strings.Contains(err.Error(), "5") {
		t.Errorf("five ranks for six heads: %v", err)
	}
	s := spec(2, 1)
	s.Model = "/nowhere/model.gguf"
	if _, err := Start(t.Context(), m, s); err == nil || !strings.Contains(err.Error(), "/nowhere/model.gguf") {
		t.Errorf("a model that is not there: %v", err)
	}
	s = spec(2, 1)
	s.Backend = "abacus"
	if _, err := Start(t.Context(), m, s); err == nil || !strings.Contains(err.Error(), "abacus") {
		t.Errorf("a backend that is not there: %v", err)
	}
	s = spec(2, 1)
	s.Engine.Blocks = -1
	if _, err := Start(t.Context(), m, s); err == nil || errors.Is(err, serve.ErrLeft) {
		t.Errorf("blocks that cannot be: %v", err)
	}
}
