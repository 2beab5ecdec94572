package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/capture"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/shard"
)

const (
	before = 32 // tokens of the prompt
	steps  = 8  // of a round that are timed; one goes before them
	passes = 3  // over the memory, of which the quickest counts
)

// near is how far apart the likeliest two tokens may be for another library, which
// sums in another order and, in bf16, rounds in other places, to choose the second.
var near = map[string]float64{"f32": 0.05, "bf16": 0.5}

// candidate is one way to decode.
type candidate interface {
	greedy(ctx context.Context, prompt []int32, n int) (continuation, error)
	// decode returns the seconds of n greedy steps after the prompt.
	decode(ctx context.Context, prompt []int32, n int) ([]float64, error)
	close() error
}

func speedCommand() *cobra.Command {
	var s subject
	var output, description string
	var rounds int
	c := &cobra.Command{Use: "speed", Short: "Time decode steps beside llama.cpp and transformers", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		if err := s.open(); err != nil {
			return err
		}
		defer s.model.Close()
		capture.SetBuild(description)
		m, err := s.speed(c.Context(), rounds)
		if err != nil {
			return err
		}
		m.write(c.OutOrStdout())
		return m.save(output)
	}}
	s.flags(c)
	c.Flags().StringVarP(&output, "output", "o", "speed.json", "file for the capture")
	c.Flags().IntVar(&rounds, "rounds", 20, "rounds, in which all take turns")
	c.Flags().StringVar(&description, "commit", "", `what was built, by "git describe --always --dirty"`)
	return c
}

func (s *subject) speed(ctx context.Context, rounds int) (m *speeds, err error) {
	m = &speeds{Taken: time.Now().UTC(), Environment: capture.Describe(ctx), Model: filepath.Base(s.path), Threads: 1, Prompt: before}
	b := cpu.New()
	b.Threads = 1
	stream, err := b.NewStream(ctx)
	if err != nil {
		return nil, err
	}
	var list []candidate
	defer func() {
		for _, c := range list {
			err = errors.Join(err, c.close())
		}
	}()
	for _, dtype := range []tensor.DType{tensor.F32, tensor.BF16} {
		some, about, err := s.candidates(ctx, b, dtype)
		list, m.Series = append(list, some...), append(m.Series, about...)
		if err != nil {
			return nil, err
		}
	}
	text, err := s.text.Encode(alice, true)
	if err != nil {
		return nil, err
	}
	if err := m.gate(ctx, list, text[:before]); err != nil {
		return nil, err
	}
	for r := range rounds {
		first := bandwidth(stream)
		for i := range list {
			at := (i + r) % len(list)
			took, err := list[at].decode(ctx, text[:before], steps+1)
			if err != nil {
				return nil, err
			}
			m.Series[at].Seconds = append(m.Series[at].Seconds, took[1:])
		}
		m.Stream = append(m.Stream, [2]float64{first, bandwidth(stream)})
	}
	m.Environment.LoadAfter = capture.Load()
	return m, m.check()
}

// bandwidth is in bytes a second.
func bandwidth(s *cpu.Stream) (rate float64) {
	for range passes {
		start := time.Now()
		n := s.Run()
		rate = max(rate, n/time.Since(start).Seconds())
	}
	return rate
}

// gate compares what the candidates say with ours in f32, the first.
func (m *speeds) gate(ctx context.Context, list []candidate, prompt []int32) error {
	var ours continuation
	for i, c := range list {
		got, err := c.greedy(ctx, prompt, length)
		if err != nil {
			return err
		}
		if i == 0 {
			ours = got
		}
		d := parting(ours, got)
		if m.Series[i].Gate = d.String(); d.at >= 0 && d.left > near[m.Series[i].DType] {
			return fmt.Errorf("%s in %s: %v", m.Series[i].Name, m.Series[i].DType, d)
		}
	}
	return nil
}

// candidates are ours and those of the other libraries with weights of one type.
func (s *subject) candidates(ctx context.Context, b *cpu.Backend, dtype tensor.DType) (list []candidate, about []series, err error) {
	weights := s.model.Config.WeightBytes(shard.Single(), dtype)
	l, err := engine.Local(ctx, s.model, shard.Layout{TP: 1, PP: 1}, engine.LocalOptions{
		Backend: b, Threads: 1, Options: engine.Options{DType: dtype, Context: 512, Blocks: 32, MaxRows: 1, MaxTokens: 64},
	})
	if err != nil {
		return nil, nil, err
	}
	list, about = append(list, &alone{Leader: l}), append(about, series{Name: nebula, DType: dtype.String(), Weights: weights})
	file, err := s.form(ctx, dtype.String(), ".gguf")
	if err != nil {
		return list, about, err
	}
	folder, err := s.form(ctx, dtype.String(), "")
	if err != nil {
		return list, about, err
	}
	for _, args := range [][]string{{"llama.cpp", file, "default"}, {"transformers", folder}} {
		p, err := openPeer(ctx, s.python, args[0], args[1], 1, args[2:]...)
		if err != nil {
			return list, about, err
		}
		list = append(list, other{p})
		about = append(about, series{Name: args[0], Version: p.Version, Settings: p.Settings, DType: dtype.String(), Weights: weights})
	}
	return list, about, nil
}

// other is another library.
type other struct{ *peer }

func (o other) close() error {
	o.peer.close() // what it writes at its end is of no interest
	return nil
}

func (o other) greedy(ctx context.Context, prompt []int32, n int) (continuation, error) {
	r, err := o.ask(ctx, question{Op: "greedy", Tokens: prompt, N: n})
	return continuation{r.Tokens, r.Margins}, err
}

func (o other) decode(ctx context.Context, prompt []int32, n int) ([]float64, error) {
	r, err := o.ask(ctx, question{Op: "decode", Tokens: prompt, N: n})
	return r.Seconds, err
}

// alone is our engine with one rank and one request.
type alone struct {
	*engine.Leader
	request uint64
}

func (a *alone) close() error { return a.Leader.Close() }

func (a *alone) greedy(ctx context.Context, prompt []int32, n int) (c continuation, err error) {
	err = a.each(ctx, prompt, n, func(logits []float32, _ time.Duration) {
		first, second := engine.Argmax(logits), float32(0)
		for i, x := range logits {
			if int32(i) != first && (x > second || i == 0 || first == 0 && i == 1) {
				second = x
			}
		}
		c.tokens, c.margins = append(c.tokens, first), append(c.margins, float64(logits[first]-second))
	})
	return c, err
}

func (a *alone) decode(ctx context.Context, prompt []int32, n int) (list []float64, err error) {
	err = a.each(ctx, prompt, n+1, func(_ []float32, took time.Duration) { list = append(list, took.Seconds()) })
	return list[1:], err // the first is the prompt
}

// each runs a prompt and n-1 greedy steps, and gives the logits of each with the time
// that it took, choosing the token included.
func (a *alone) each(ctx context.Context, prompt []int32, n int, f func([]float32, time.Duration)) error {
	a.request++
	info := a.Info()
	var blocks []int32
	for i := range (len(prompt) + n + info.BlockSize - 1) / info.BlockSize {
		blocks = append(blocks, int32(i))
	}
	tokens, pos := prompt, 0
	for range n {
		start := time.Now()
		t, err := a.Submit(ctx, engine.Step{Rows: []engine.Row{{Request: a.request, Tokens: tokens, Pos: pos, Blocks: blocks, Logits: true}}})
		if err != nil {
			return err
		}
		r, err := a.Wait(ctx, t)
		if err != nil {
			return err
		}
		next := engine.Argmax(r.Logits[0])
		f(r.Logits[0], time.Since(start))
		pos += len(tokens)
		tokens = []int32{next}
	}
	return a.Release(ctx, a.request)
}
