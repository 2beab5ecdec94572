package gemm

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend/cuda/cublaslt"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/tensor"
)

// work is what is measured: a shape, with so many copies of B that no cache holds them
// where a program would not find B in a cache.
type work struct {
	shape  *Shape
	copies int
}

// rounds is how many products take about 150 us.
func (w work) rounds() int {
	s := w.shape
	flops := 2 * float64(s.M) * float64(s.N) * float64(s.K)
	rate := 4e8
	if s.A.Elem == f32 {
		rate = 3e7
	}
	return max(2, min(100, int(150/max(2, s.bytes()/3e6, flops/rate))))
}

// racer is a way to compute a product that is measured.
type racer struct {
	name       string
	launch     func(copy int) error
	close      func() error
	graph      *driver.Graph
	start, end *driver.Event
	times      []time.Duration
	errs       string
}

func (r *racer) median() time.Duration { return r.times[len(r.times)/2] }

// prepare captures so many products of a racer.
func (b *bench) prepare(r *racer, rounds int) (err error) {
	if r.graph, err = b.s.Capture(func() error {
		for i := range rounds {
			if err := r.launch(i); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if r.start, err = b.c.NewEvent(true); err == nil {
		r.end, err = b.c.NewEvent(true)
	}
	return err
}

// laps is how often each racer has its turn.
const laps = 9

// race lets racers take turns, and sorts the times of one product of each.
func (b *bench) race(list []*racer, rounds int) error {
	for _, r := range list {
		r.times = nil
	}
	for lap := range laps + 1 {
		for _, r := range list {
			if err := errors.Join(b.s.Record(r.start), r.graph.Launch(b.s), b.s.Record(r.end), b.s.Synchronize()); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			d, err := r.end.Since(r.start)
			if err != nil {
				return err
			}
			if lap > 0 {
				r.times = append(r.times, d/time.Duration(rounds))
			}
		}
	}
	for _, r := range list {
		slices.Sort(r.times)
	}
	return nil
}

// end gives back what racers have.
func (b *bench) end(list []*racer) error {
	var err error
	for _, r := range list {
		err = errors.Join(err, r.graph.Close(), r.start.Close(), r.end.Close(), r.close())
	}
	return err
}

// own are our kernels as racers, each of which is checked.
func (b *bench) own(list []Kernel) []*racer {
	want := b.sampled(300)
	var racers []*racer
	for _, k := range compileAll(b.t, b.c, list) {
		b.do(func() error {
			r, err := b.load(k)
			if err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
			x, err := r.results()
			if err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
			worst, where := b.worst(x, want)
			racers = append(racers, &racer{name: k.Name, launch: r.launch, close: r.close, errs: fmt.Sprintf("errs by %.1e at %s", worst, where)})
			return nil
		})
	}
	return racers
}

// library are ways of cuBLASLt as racers, where it multiplies such matrices.
func (b *bench) library(most int) []*racer {
	s := b.shape
	if s.A.Elem != s.B.Elem || s.A.Elem != s.Out.Elem || len(s.Batch) > 0 {
		return nil
	}
	lib, err := cublaslt.Open()
	if err != nil {
		b.t.Log("without cuBLASLt: ", err)
		return nil
	}
	const workspace = 32 << 20
	var racers []*racer
	b.do(func() error {
		matrix := func(m Matrix) cublaslt.Matrix {
			return cublaslt.Matrix{Row: m.Row, Column: m.Column, Align: int64(m.Align)}
		}
		p, err := lib.Plan(b.c, cublaslt.Shape{DType: s.A.Elem, M: s.M, N: s.N, K: s.K, Batch: 1, A: matrix(s.A), B: matrix(s.B), D: matrix(s.Out), Workspace: workspace})
		if err != nil {
			return err
		}
		for _, m := range p.Products[:min(most, len(p.Products))] {
			room, err := b.s.Alloc(max(256, m.Workspace))
			if err != nil {
				return err
			}
			list := b.operands[B].memory
			racers = append(racers, &racer{
				name: m.Name,
				launch: func(copy int) error {
					return m.Run(b.s, b.operands[A].memory[0].Address, list[copy%len(list)].Address, 0, b.operands[Out].memory[0].Address, room.Address)
				},
				close: func() error { return b.s.Free(room) },
			})
		}
		return nil
	})
	return racers
}

// works are the shapes that the model is fitted to and measured by: products of the suite's
// models, squares, and layers of decoders of 1B and 8B with few rows and with many.
func works() map[string][]work {
	sets := make(map[string][]work)
	add := func(set string, d, b tensor.DType, m, n, k int, along bool, copies int) {
		sets[set] = append(sets[set], work{dense(d, b, d, m, n, k, along), copies})
	}
	for _, d := range []tensor.DType{f32, f16} {
		for _, q := range [][3]int{
			{8, 128, 64}, {8, 32, 128}, {8, 64, 128}, {32, 256, 128}, {32, 64, 256}, {32, 128, 256}, {64, 512, 256}, {64, 128, 512}, {64, 256, 512},
			{96, 384, 128}, {96, 128, 128}, {96, 256, 128}, {96, 128, 256}, {4, 64, 64}, {4, 64, 16}, {4, 10, 64},
			{64, 768, 768}, {64, 3072, 768}, {64, 768, 3072}, {32, 384, 256}, {32, 256, 256}, {32, 688, 256}, {32, 256, 688},
		} {
			add("suite", d, d, q[0], q[1], q[2], false, 1)
		}
	}
	for n := 128; n <= 4096; n *= 2 {
		add("square", f32, f32, n, n, n, false, 1)
		add("square", bf16, bf16, n, n, n, false, 1)
		add("square", bf16, bf16, n, n, n, true, 1)
	}
	layer := func(set string, d, b tensor.DType, m, n, k int, along bool) {
		add(set, d, b, m, n, k, along, max(1, 250<<20/(n*k*b.Size())))
	}
	for _, m := range []int{1, 4, 8, 16} {
		for _, q := range [][2]int{{4096, 4096}, {4096, 14336}, {2048, 2048}, {8192, 2048}, {512, 2048}} {
			layer("rows", f32, bf16, m, q[0], q[1], false)
		}
		layer("rows", f32, bf16, m, 4096, 4096, true)
		layer("rows", f32, f32, m, 4096, 4096, false)
		layer("rows", bf16, bf16, m, 4096, 4096, false)
		layer("rows", bf16, bf16, m, 4096, 4096, true)
		layer("rows", bf16, bf16, m, 2048, 8192, false)
		layer("rows", bf16, bf16, m, 2048, 2048, true)
	}
	layer("rows", f32, bf16, 1, 14336, 4096, false)
	layer("rows", f32, bf16, 2, 4096, 4096, false)
	layer("rows", f32, bf16, 1, 32064, 4096, true)
	for _, m := range []int{32, 128, 512} {
		for _, q := range [][2]int{{4096, 4096}, {14336, 4096}, {4096, 14336}, {2048, 2048}} {
			layer("layers", bf16, bf16, m, q[0], q[1], false)
		}
		layer("layers", bf16, bf16, m, 4096, 4096, true)
		layer("layers", f32, bf16, m, 2048, 2048, false)
	}
	return sets
}

// TestTimes prints the times of all candidates of shapes beside the library's when
// FORGE_GEMM_TIMES names some of the sets "suite square rows layers", until
// FORGE_GEMM_BUDGET is over. Two races are run: it tells how far from the best of the second
// the first candidate is, which is the model's choice, and the best of the first race,
// which is a tuner's.
func TestTimes(t *testing.T) {
	sets := strings.Fields(os.Getenv("FORGE_GEMM_TIMES"))
	if len(sets) == 0 {
		t.Skip("FORGE_GEMM_TIMES names no set")
	}
	c := device(t)
	budget := time.Hour
	if text := os.Getenv("FORGE_GEMM_BUDGET"); text != "" {
		var err error
		if budget, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	end := time.Now().Add(budget)
	var list []distance
	for _, set := range sets {
		for _, w := range works()[set] {
			if time.Now().After(end) {
				fmt.Println("the budget is over before", w.shape)
				break
			}
			t.Run(w.shape.String(), func(t *testing.T) { list = append(list, w.measure(t, c)) })
		}
	}
	summarize("the model's choice", list, func(d distance) float64 { return d.guess })
	summarize("a tuner's choice", list, func(d distance) float64 { return d.tuned })
}

// distance is how long choices take, relative to the best.
type distance struct {
	shape        *Shape
	guess, tuned float64
}

func summarize(what string, list []distance, of func(d distance) float64) {
	within, worst := 0, distance{}
	for _, d := range list {
		if of(d) < 1.05 {
			within++
		}
		if worst.shape == nil || of(d) > of(worst) {
			worst = d
		}
	}
	fmt.Printf("%s is within 5 %% of the best for %d of %d shapes", what, within, len(list))
	if worst.shape != nil {
		fmt.Printf("; the farthest is %v: %.3f", worst.shape, of(worst))
	}
	fmt.Println()
}

// measure races the candidates of a shape and the library's, and prints a table.
func (w work) measure(t *testing.T, c *driver.Context) distance {
	s := w.shape
	b := newBench(t, c, s, w.copies)
	own, library := b.own(Candidates(s, targetOf(c))), b.library(2)
	all := slices.Concat(own, library)
	var first []time.Duration // of the first race
	b.do(func() error {
		for _, r := range all {
			if err := b.prepare(r, w.rounds()); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
		if err := b.race(all, w.rounds()); err != nil {
			return err
		}
		for _, r := range all {
			first = append(first, r.median())
		}
		return errors.Join(b.race(all, w.rounds()), b.end(all))
	})
	quickest := func(list []*racer) time.Duration {
		return slices.MinFunc(list, func(a, b *racer) int { return int(a.median() - b.median()) }).median()
	}
	tuned := all[slices.Index(first, slices.Min(first))]
	d := distance{s, own[0].median().Seconds() / quickest(own).Seconds(), tuned.median().Seconds() / quickest(all).Seconds()}
	fmt.Printf("%v: the model's choice takes %.3f of our best, a tuner's %.3f of the best", s, d.guess, d.tuned)
	if library != nil {
		fmt.Printf("; our best has %.1f %% of the library's rate", 100*quickest(library).Seconds()/quickest(own).Seconds())
	}
	fmt.Println()
	for _, r := range all {
		at := r.median()
		fmt.Printf("  %9.2f us, at least %9.2f, %7.1f TFLOP/s %6.0f GB/s  %s  %s\n", float64(at.Nanoseconds())/1e3, float64(r.times[0].Nanoseconds())/1e3,
			2*float64(s.M)*float64(s.N)*float64(s.K)*float64(s.batches())/at.Seconds()/1e12, s.bytes()/at.Seconds()/1e9, r.name, r.errs)
	}
	return d
}
