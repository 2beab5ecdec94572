package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/forge/capture"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/job"
	"forgekernel/nebula/model"
	"forgekernel/nebula/sample"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
	"forgekernel/nebula/shard"
	"forgekernel/nebula/trace"
)

// gains are the samples of what batching, sharing and parallelism gain. The two
// sides of a ratio are measured in turns.
type gains struct {
	Taken       time.Time           `json:"taken"`
	Environment capture.Environment `json:"environment"`
	// Rates are tokens a second of one request and of sixteen at once, round by round.
	One     []float64 `json:"batch_1_tokens_per_s"`
	Sixteen []float64 `json:"batch_16_tokens_per_s"`
	// Work is what eight prompts with a common beginning took, without and with
	// sharing.
	Unshared work `json:"unshared"`
	Shared   work `json:"shared"`
	// Prefill is the seconds of a batch of prompts on one rank and on two that divide
	// every layer, with one thread each.
	TP1 []float64 `json:"tp1_prefill_s"`
	TP2 []float64 `json:"tp2_prefill_s"`
	// Bubble is the share of time that either of two stages waited, whichever waited
	// longer.
	Bubble []float64 `json:"pp2_bubble"`
}

// work is what a scheduler had its engine do.
type work struct {
	Prompt uint64 `json:"prompt_tokens"` // computed
	Blocks int    `json:"blocks"`        // of the cache in use at once, at most
}

// small is a decoder whose weights stay in a near cache.
var small = model.Config{
	Family: "llama", Vocab: 512, Hidden: 384, Layers: 4, Heads: 6, KVHeads: 6, HeadDim: 64, FF: 1024, Context: 1024, Eps: 1e-5, Rope: &model.Rope{Base: 1e4},
}

func barsCommand() *cobra.Command {
	var path, output, description string
	var rounds int
	c := &cobra.Command{Use: "bars", Short: "Measure what batching, sharing and parallelism gain", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		capture.SetBuild(description)
		g := &gains{Taken: time.Now().UTC(), Environment: capture.Describe(c.Context())}
		if err := g.measure(c.Context(), path, rounds); err != nil {
			return err
		}
		g.Environment.LoadAfter = capture.Load()
		g.write(c.OutOrStdout())
		raw, err := json.MarshalIndent(g, "", " ")
		if err != nil {
			return err
		}
		return os.WriteFile(output, append(raw, '\n'), 0o644)
	}}
	c.Flags().StringVar(&path, "model", "", "GGUF file of the model that is batched")
	c.Flags().StringVarP(&output, "output", "o", "bars.json", "file for the samples")
	c.Flags().IntVar(&rounds, "rounds", 10, "rounds, in which both sides of a ratio take turns")
	c.Flags().StringVar(&description, "commit", "", `what was built, by "git describe --always --dirty"`)
	return c
}

func (g *gains) measure(ctx context.Context, path string, rounds int) error {
	m, err := model.Open(path)
	if err != nil {
		return err
	}
	defer m.Close()
	s, err := model.Seeded(small, 1)
	if err != nil {
		return err
	}
	defer s.Close()
	b, err := model.Seeded(balanced, 1)
	if err != nil {
		return err
	}
	defer b.Close()
	return errors.Join(g.sharing(ctx, s), g.piping(ctx, b, rounds), g.dividing(ctx, s, rounds), g.batching(ctx, m, rounds))
}

// balanced is a decoder whose stages have equally much to do: the head is small.
var balanced = model.Config{
	Family: "llama", Vocab: 512, Hidden: 768, Layers: 8, Heads: 12, KVHeads: 12, HeadDim: 64, FF: 2048, Context: 1024, Eps: 1e-5, Rope: &model.Rope{Base: 1e4},
}

// seconds are how long every wait within a step may be, on a busy machine.
const seconds = 120 * time.Second

func jobOf(l shard.Layout) job.Spec {
	return job.Spec{Layout: l, Threads: 1, Deadline: seconds, Engine: engine.Options{Context: 640, Blocks: 512, MaxRows: 16, MaxTokens: 256}}
}

// answers are the tokens of a request, and when they came.
type answers struct {
	at  []time.Time
	use sched.Usage
}

// all submits requests of so many tokens at once and waits for all. Prompts of one
// seed are equal; each is of `common` equal tokens and then its own.
func all(ctx context.Context, s serve.Service, requests, prompt, common, tokens, seed int) ([]answers, time.Duration, error) {
	start := time.Now()
	var streams []*sched.Stream
	for r := range requests {
		ids := make([]int32, prompt)
		for i := range ids {
			ids[i] = int32((i*7 + seed*13) % 500)
			if i >= common {
				ids[i] = int32((i*11 + r*31 + seed*17) % 500)
			}
		}
		stream, err := s.Submit(ctx, sched.Request{Prompt: ids, Params: sample.Params{MaxTokens: tokens}})
		if err != nil {
			return nil, 0, err
		}
		defer stream.Close()
		streams = append(streams, stream)
	}
	list := make([]answers, requests)
	for i, stream := range streams {
		for e := range stream.Events() {
			if e.Finish != nil {
				if list[i].use = e.Finish.Usage; e.Finish.Err != nil {
					return nil, 0, e.Finish.Err
				}
				break
			}
			list[i].at = append(list[i].at, e.At)
		}
	}
	return list, time.Since(start), nil
}

// rate is the tokens a second while all requests were decoding.
func rate(list []answers) float64 {
	var from, to time.Time
	for i, a := range list {
		if a.at[0].After(from) {
			from = a.at[0]
		}
		if last := a.at[len(a.at)-1]; i == 0 || last.Before(to) {
			to = last
		}
	}
	n := 0
	for _, a := range list {
		for _, at := range a.at {
			if at.After(from) && !at.After(to) {
				n++
			}
		}
	}
	return float64(n) / to.Sub(from).Seconds()
}

// batching decodes one request and sixteen in turns.
func (g *gains) batching(ctx context.Context, m *model.Model, rounds int) error {
	spec := jobOf(shard.Layout{TP: 1, PP: 1})
	spec.NoSharing = true
	l, err := job.Local(ctx, m, spec, nil)
	if err != nil {
		return err
	}
	defer l.Close()
	for r := range rounds + 1 {
		for _, side := range []struct {
			requests int
			rates    *[]float64
		}{{1, &g.One}, {16, &g.Sixteen}} {
			list, _, err := all(ctx, l, side.requests, 4, 0, 24, r)
			if err != nil {
				return err
			}
			if r > 0 { // the first compiles
				*side.rates = append(*side.rates, rate(list))
			}
		}
	}
	return nil
}

// sharing runs eight requests that begin with the same 512 tokens. Chunks are so
// large that all have their prompts in the cache before the first is done.
func (g *gains) sharing(ctx context.Context, m *model.Model) error {
	for _, side := range []struct {
		apart bool
		work  *work
	}{{true, &g.Unshared}, {false, &g.Shared}} {
		spec := jobOf(shard.Layout{TP: 1, PP: 1})
		spec.NoSharing, spec.Chunk = side.apart, 256
		l, err := job.Local(ctx, m, spec, nil)
		if err != nil {
			return err
		}
		done, most := make(chan error, 1), 0
		go func() {
			_, _, err := all(ctx, l, 8, 528, 512, 16, 1)
			done <- err
		}()
		for running := true; running; {
			select {
			case err = <-done:
				running = false
			case <-time.After(time.Millisecond):
			}
			most = max(most, l.Scheduler.Metrics().KV.Used)
		}
		*side.work = work{l.Scheduler.Metrics().Prompt, most}
		if err := errors.Join(err, l.Close()); err != nil {
			return err
		}
	}
	return nil
}

// dividing computes prompts on one rank, which is a process, and on two, in turns.
func (g *gains) dividing(ctx context.Context, m *model.Model, rounds int) (err error) {
	var jobs [2]*job.Processes
	for i := range jobs {
		spec := jobOf(shard.Layout{TP: i + 1, PP: 1})
		spec.NoSharing = true
		if jobs[i], err = job.Start(ctx, m, spec); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, jobs[i].Close()) }()
	}
	for r := range 4*rounds + 1 {
		for i, samples := range []*[]float64{&g.TP1, &g.TP2} {
			_, took, err := all(ctx, jobs[i], 4, 256, 0, 1, r)
			if err != nil {
				return err
			}
			if r > 0 {
				*samples = append(*samples, took.Seconds())
			}
		}
	}
	return nil
}

// piping decodes sixteen requests on two stages and looks at their trace.
func (g *gains) piping(ctx context.Context, m *model.Model, rounds int) (err error) {
	spec := jobOf(shard.Layout{TP: 1, PP: 2})
	spec.NoSharing, spec.Engine.Regions = true, 1<<14
	p, err := job.Start(ctx, m, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	var from uint64 // steps of earlier rounds
	for r := range rounds + 1 {
		if _, _, err := all(ctx, p, 16, 8, 0, 48, r); err != nil {
			return err
		}
		ranks, err := p.Trace(ctx)
		if err != nil {
			return err
		}
		var last uint64
		for i := range ranks {
			ranks[i].Regions = slices.DeleteFunc(ranks[i].Regions, func(x trace.Region) bool { last = max(last, x.Step); return x.Step <= from })
		}
		from = last
		most := 0.
		for _, b := range trace.Bubbles(ranks) {
			if b.Window <= 0 {
				return fmt.Errorf("the trace of round %d shows no steps of rank %d", r, b.Rank)
			}
			most = max(most, b.Share())
		}
		if r > 0 {
			g.Bubble = append(g.Bubble, most)
		}
	}
	return nil
}

// write shows what follows from the samples, beside what is to be reached.
func (g *gains) write(w io.Writer) {
	best := func(s []float64) float64 { return slices.Max(s) }
	fmt.Fprintln(w, "| what | bar | median | at the quickest |\n|---|---:|---:|---:|")
	fmt.Fprintf(w, "| tokens/s of 16 requests at once over those of 1 | 6x | %.1fx | %.1fx |\n", median(g.Sixteen)/median(g.One), best(g.Sixteen)/best(g.One))
	fmt.Fprintf(w, "| prompt tokens computed for 8 prompts with 512 in common, shared over not | 1/5 | %d/%d = %.3f | |\n", g.Shared.Prompt, g.Unshared.Prompt, float64(g.Shared.Prompt)/float64(g.Unshared.Prompt))
	fmt.Fprintf(w, "| blocks of the cache for them | 1/5 | %d/%d = %.3f | |\n", g.Shared.Blocks, g.Unshared.Blocks, float64(g.Shared.Blocks)/float64(g.Unshared.Blocks))
	fmt.Fprintf(w, "| TP 2 over 1 rank, prompts of a small decoder | 1.6x | %.2fx | %.2fx |\n", median(g.TP1)/median(g.TP2), slices.Min(g.TP1)/slices.Min(g.TP2))
	fmt.Fprintf(w, "| bubble of PP 2 with 16 requests | 25 %% | %.0f %% | %.0f %% |\n", 100*median(g.Bubble), 100*slices.Min(g.Bubble))
}
