package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
	"forgekernel/nebula/trace"
)

// cacheResident is a decoder whose weights stay in the cache, so that what surrounds
// its programs shows.
func cacheResident() model.Config {
	return model.Config{Family: "llama", Vocab: 256, Hidden: 64, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 16, FF: 128, Context: 256, Eps: 1e-5, Rope: &model.Rope{Base: 10000}}
}

func native(threads int) *cpu.Backend {
	b := cpu.New()
	b.Threads = threads
	return b
}

// BenchmarkDecode steps one request and reports how much longer that takes than the
// compiled program alone, both as the least of many, measured in turns.
func BenchmarkDecode(b *testing.B) {
	if _, err := cpu.FindCompiler(); err != nil {
		b.Skip(err)
	}
	for _, size := range []struct{ tp, vocab int }{{1, 256}, {1, 49152}, {2, 256}} {
		tp := size.tp
		b.Run(fmt.Sprintf("TP%d/%d", tp, size.vocab), func(b *testing.B) {
			c := cacheResident()
			c.Vocab = size.vocab
			m := seeded(b, c)
			l := local(b, m, tp, 1, LocalOptions{Backend: native(1), Options: Options{BlockSize: 16, Blocks: 64}})
			d := newDecoder(b, l)
			d.step(b) // compiles
			least, alone := time.Hour, time.Hour
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				d.step(b)
				least = min(least, time.Since(start))
				if tp == 1 {
					b.StopTimer()
					alone = min(alone, runAlone(b, l))
					b.StartTimer()
				}
			}
			b.ReportMetric(float64(least.Microseconds()), "us/least")
			if tp == 1 {
				b.ReportMetric(float64((least-alone).Nanoseconds())/1e3, "us/overhead")
			}
		})
	}
}

// decoder is a request that goes on and on, within its context.
type decoder struct {
	*Leader
	id     uint64
	blocks []int32
	pos    int
	token  [1]int32
	rows   [1]Row
	ticket Ticket
}

func newDecoder(t testing.TB, l *Leader) *decoder {
	d := &decoder{Leader: l, id: 1}
	for i := range l.self.sizes.width() {
		d.blocks = append(d.blocks, int32(i))
	}
	return d
}

func (d *decoder) step(t testing.TB) {
	t.Helper()
	if err := d.try(t); err != nil {
		t.Fatal(err)
	}
}

func (d *decoder) try(t testing.TB) error {
	if err := d.submit(t); err != nil {
		return err
	}
	return d.wait(t)
}

func (d *decoder) submit(t testing.TB) error { return d.submitAs(t, true) }

// submitAs asks for logits, or for their lead alone.
func (d *decoder) submitAs(t testing.TB, lead bool) (err error) {
	if d.pos == min(d.self.sizes.context, len(d.blocks)*d.self.sizes.blockSize) {
		if err := d.Release(t.Context(), d.id); err != nil {
			return err
		}
		d.pos, d.id = 0, d.id+1
	}
	d.rows[0] = Row{Request: d.id, Tokens: d.token[:], Pos: d.pos, Blocks: d.blocks, Logits: true, Lead: lead}
	d.ticket, err = d.Submit(t.Context(), Step{d.rows[:]})
	return err
}

func (d *decoder) wait(t testing.TB) error {
	r, err := d.Wait(t.Context(), d.ticket)
	if err != nil {
		return err
	}
	if r.Logits[0] == nil {
		d.token[0] = r.Leads[0].Token
	} else {
		d.token[0] = Argmax(r.Logits[0])
	}
	r.Reuse()
	d.pos++
	return nil
}

// runAlone is the time of the program that step runs.
func runAlone(t testing.TB, l *Leader) time.Duration {
	p := l.self.program(bucket{1, 1, true})
	start := time.Now()
	if err := backend.RunInto(l.health.ctx, p.exe, p.outputs, p.inputs); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// BenchmarkAgree steps two ranks that are processes, and reports how long rank 0 takes
// to tell and hear that the step is the same on both.
func BenchmarkAgree(b *testing.B) {
	p := startProcesses(b, shard.Layout{TP: 2, PP: 1}, 10*time.Second, Options{Blocks: 32, Regions: 1 << 16})
	d := newDecoder(b, p.Leader)
	d.step(b)
	for b.Loop() {
		d.step(b)
	}
	ranks, err := p.Trace(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var agreed []float64
	for _, g := range ranks[0].Regions {
		if g.Kind == trace.Agree {
			agreed = append(agreed, float64(g.End-g.Start)/1e3)
		}
	}
	slices.Sort(agreed)
	b.ReportMetric(agreed[0], "us/least")
	b.ReportMetric(agreed[len(agreed)/2], "us/median")
}

// BenchmarkPipeline keeps two stages that are processes busy with two prefills at a
// time, and reports the idle share of the worse one.
func BenchmarkPipeline(b *testing.B) {
	const tokens = 64
	p := startProcesses(b, shard.Layout{TP: 1, PP: 2}, 10*time.Second, Options{Blocks: 32, Regions: 1 << 16})
	var inFlight []Ticket
	request := uint64(0)
	wait := func() {
		if _, err := p.Wait(b.Context(), inFlight[0]); err != nil {
			b.Fatal(err)
		}
		inFlight = inFlight[1:]
		if err := p.Release(b.Context(), request-uint64(len(inFlight))); err != nil {
			b.Fatal(err)
		}
	}
	blocks := [][]int32{{0, 1, 2, 3}, {4, 5, 6, 7}}
	for b.Loop() {
		if len(inFlight) == 2 {
			wait()
		}
		request++
		t, err := p.Submit(b.Context(), Step{[]Row{{Request: request, Tokens: prompt(int(request), tokens, 256), Blocks: blocks[request%2], Logits: true}}})
		if err != nil {
			b.Fatal(err)
		}
		inFlight = append(inFlight, t)
	}
	for len(inFlight) > 0 {
		wait()
	}
	ranks, err := p.Trace(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	worst := 0.0
	for _, s := range trace.Bubbles(ranks) {
		worst = max(worst, s.Share())
	}
	b.ReportMetric(100*worst, "%idle")
}
