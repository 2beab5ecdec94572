package sched

import (
	"context"
	"testing"
	"time"

	"forgekernel/nebula/engine"
)

// instant is an engine that gives everything at once.
type instant struct {
	engine.Engine
	info   engine.Info
	logits []float32
	rows   int
}

func (e *instant) Info() engine.Info { return e.info }

func (e *instant) Submit(_ context.Context, step engine.Step) (engine.Ticket, error) {
	e.rows = len(step.Rows)
	return 1, nil
}

func (e *instant) Wait(context.Context, engine.Ticket) (engine.Result, error) {
	result := engine.Result{Logits: make([][]float32, e.rows)}
	for i := range result.Logits {
		result.Logits[i] = e.logits
	}
	return result, nil
}

func (e *instant) Release(context.Context, uint64) error { return nil }

var benchInfo = engine.Info{TP: 1, PP: 1, Vocab: 11, Context: 1 << 20, BlockSize: 16, Blocks: 1 << 20, MaxRows: 16, MaxTokens: 512, Depth: 1}

// BenchmarkDecodeStep is the scheduler's part of a step of 16 decoders, without
// goroutines.
func BenchmarkDecodeStep(b *testing.B) { benchmarkBatch(b, 16) }

// BenchmarkQueue1000 is the same with a thousand requests in the queue.
func BenchmarkQueue1000(b *testing.B) { benchmarkBatch(b, 1016) }

func benchmarkBatch(b *testing.B, requests int) {
	batch, err := newBatch(benchInfo, Options{Limit: requests})
	if err != nil {
		b.Fatal(err)
	}
	for range requests {
		r, err := batch.newRequest(ask(prompt(1, 100), 0))
		if err == nil {
			err = batch.admit(r, time.Now())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	choices := make([]choice, 16)
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		f, _ := batch.plan(now)
		batch.complete(f, choices[:len(f.rows)], now)
		for _, r := range batch.running {
			r.stream.events = r.stream.events[:0] // read
		}
	}
}

// BenchmarkStep16 is all of it: channels, locks, the clock and streams that are read.
func BenchmarkStep16(b *testing.B) {
	e := &instant{info: benchInfo, logits: make([]float32, 11)}
	s, err := New(e, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var streams []*Stream
	for range 16 {
		stream, err := s.Submit(context.Background(), ask(prompt(1, 100), 0))
		if err != nil {
			b.Fatal(err)
		}
		streams = append(streams, stream)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, stream := range streams {
			if _, err := stream.Next(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
