package job

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/model"
	"forgekernel/nebula/sample"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
	"forgekernel/nebula/shard"
)

// TestMain lets the test binary be a rank of the jobs that tests start.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], Command) {
		r, err := launch.Attach()
		if err == nil {
			err = Attend(r, tasks)
		}
		if err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var tasks = map[string]serve.Task{
	"pid": func(context.Context, *serve.Local, json.RawMessage) (any, error) { return os.Getpid(), nil },
}

func tiny(t *testing.T) *model.Model {
	t.Helper()
	m, err := model.Seeded(model.TinyDecoder(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func spec(tp, pp int) Spec {
	return Spec{
		Layout: shard.Layout{TP: tp, PP: pp}, Backend: "interp", Threads: 1, Deadline: 2 * time.Second,
		Engine: engine.Options{BlockSize: 8, Blocks: 32, Context: 64, MaxRows: 4, MaxTokens: 32},
	}
}

// start starts processes and checks at the end that none is left.
func start(t *testing.T, s Spec) *Processes {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	p, err := Start(t.Context(), tiny(t), s)
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
		left, _ := filepath.Glob(os.Getenv("XDG_RUNTIME_DIR") + "/*/*")
		if len(left) > 0 {
			t.Errorf("left behind: %v", left)
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
		p := start(t, spec(l.TP, l.PP))
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

// TestFaults ends ranks in every way, during work, and checks that the error names
// the rank within the deadline and that nothing is left.
func TestFaults(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP, "terminated": syscall.SIGTERM} {
		for rank := range 2 {
			t.Run(name+" "+string(rune('0'+rank)), func(t *testing.T) {
				p := start(t, spec(2, 1))
				stream, err := p.Submit(t.Context(), sched.Request{Prompt: []int32{1, 2}, Params: sample.Params{MaxTokens: 60}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := stream.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				syscall.Kill(p.Ranks().Process(rank).PID, signal)
				var f *sched.Finish
				for e := range stream.Events() {
					f = e.Finish
				}
				if f.Reason == sched.Length && signal == syscall.SIGTERM {
					t.Skip("the request had ended before the rank noticed")
				}
				if f.Reason != sched.Failed || f.Err == nil {
					t.Fatalf("the request ends with %+v", f)
				}
				t.Log(f.Err)
				var cause *engine.Error
				if errors.As(f.Err, &cause) {
					if cause.Rank != rank {
						t.Errorf("rank %d is blamed: %v", cause.Rank, f.Err)
					}
				} else if rank != 0 || !errors.Is(f.Err, serve.ErrLeft) {
					t.Errorf("%v", f.Err)
				}
				<-p.Over()
				if _, err := p.Submit(t.Context(), sched.Request{Prompt: []int32{1}}); err == nil {
					t.Error("a job that is over takes a request")
				}
			})
		}
	}
}

// TestNoStart checks what is said when a job cannot be.
func TestNoStart(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
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
