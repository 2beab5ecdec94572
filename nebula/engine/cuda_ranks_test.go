package engine

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
	"forgekernel/nebula/trace"
)

// gpus are the backends of so many GPUs, without which a test is skipped.
func gpus(t testing.TB, n int) []backend.Backend {
	t.Helper()
	gpu(t)
	lib, err := driver.Open()
	if err != nil {
		t.Fatal(err)
	}
	found, err := lib.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < n {
		t.Skipf("there are %d GPUs, and %d are needed", len(found), n)
	}
	var list []backend.Backend
	for i := range n {
		b, err := cuda.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// TestGPURanks compares small models on two GPUs, divided in either way, with the
// reference: in f32 greedy texts are the same.
func TestGPURanks(t *testing.T) {
	for _, c := range []model.Config{tinyConfig(), llamaConfig()} {
		for _, l := range []shard.Layout{{TP: 2, PP: 1}, {TP: 1, PP: 2}} {
			t.Run(fmt.Sprintf("%s/%v", c.Family, l), func(t *testing.T) {
				list := gpus(t, 2)
				m := seeded(t, c)
				e := local(t, m, l.TP, l.PP, LocalOptions{Options: Options{BlockSize: 4, Blocks: 64, MaxTokens: 24, MaxRows: 5}, Backends: list, Deadline: 20 * time.Second})
				gate := Gate{Tokens: 8, Tolerance: 1e-5}
				for i, n := range []int{1, 3, 17, 30} {
					gate.Prompts = append(gate.Prompts, prompt(i, n, c.Vocab))
				}
				report, err := gate.Check(t.Context(), e, reference(t, m))
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v", report)
			})
		}
	}
}

// BenchmarkGPURanks decodes one request with the shapes of Llama 3 in bf16, on one GPU
// and on two that share each layer, or the layers, in processes of their own. FORGE_SHAPES
// names shapes in place of 8B, and FORGE_LAYOUTS some of the cases.
func BenchmarkGPURanks(b *testing.B) {
	for _, name := range []string{"1B", "8B", "8B-quarter"} {
		if !slices.Contains(strings.Fields(cmp.Or(os.Getenv("FORGE_SHAPES"), "8B")), name) {
			continue
		}
		for _, l := range []shard.Layout{{TP: 2, PP: 1}, {TP: 1, PP: 1}, {TP: 1, PP: 2}} {
			for _, how := range []string{"overlap", "plain"} {
				title := name + "/" + strings.ReplaceAll(l.String(), " ", "") + "/" + how
				if pick := os.Getenv("FORGE_LAYOUTS"); pick != "" && !slices.ContainsFunc(strings.Fields(pick), func(p string) bool { return strings.Contains(title, p) }) {
					continue
				}
				b.Run(title, func(b *testing.B) { benchmarkGPURanks(b, name, how, l) })
			}
		}
	}
}

// tracedSteps are the last steps of a decode, whose regions are told.
const tracedSteps = 100

func benchmarkGPURanks(b *testing.B, name, how string, l shard.Layout) {
	gpus(b, l.Ranks())
	b.Setenv(modelVariable, name)
	b.Setenv(gpuVariable, how)
	start := time.Now()
	options := Options{DType: tensor.BF16, Context: 2048, MaxRows: 1, Regions: 1 << 16}
	d := newDecoder(b, startProcesses(b, l, time.Minute, options).Leader)
	for d.pos < 128 {
		d.step(b)
	}
	fmt.Fprintf(os.Stderr, "%s %v %s: ready after %v\n", name, l, how, time.Since(start).Round(time.Millisecond))
	var steps []time.Duration
	for b.Loop() {
		start := time.Now()
		d.step(b)
		steps = append(steps, time.Since(start))
	}
	tellRegions(b, d, min(tracedSteps, len(steps)))
	slices.Sort(steps)
	b.ReportMetric(1e3*steps[len(steps)/2].Seconds(), "ms/token")
	b.ReportMetric(1e3*steps[0].Seconds(), "ms/token-least")
}

// BenchmarkGPURanksKernels tells where the time of a decode goes, kernel by kernel, which
// takes longer then: with a quarter of the layers of 8B.
func BenchmarkGPURanksKernels(b *testing.B) {
	gpus(b, 2)
	b.Setenv(modelVariable, "8B-quarter")
	b.Setenv(gpuVariable, "plain")
	l := shard.Layout{TP: 2, PP: 1}
	options := Options{DType: tensor.BF16, Context: 2048, MaxRows: 1, Regions: 1 << 16, Kernels: true}
	d := newDecoder(b, startProcesses(b, l, time.Minute, options).Leader)
	for d.pos < 128 {
		d.step(b)
	}
	for b.Loop() {
		d.step(b)
	}
	tellRegions(b, d, 20)
}

// requests are some that decode together, in steps of their own.
type requests struct {
	*Leader
	rows   []Row
	ticket Ticket
}

// newRequests are n requests from a number on.
func newRequests(l *Leader, first, n int) *requests {
	r := &requests{Leader: l}
	for i := first; i < first+n; i++ {
		row := Row{Request: uint64(i + 1), Tokens: []int32{int32(i)}, Logits: true, Lead: true}
		for k := range l.self.sizes.width() {
			row.Blocks = append(row.Blocks, int32(i*l.self.sizes.width()+k))
		}
		r.rows = append(r.rows, row)
	}
	return r
}

func (r *requests) submit(t testing.TB) {
	t.Helper()
	var err error
	if r.ticket, err = r.Submit(t.Context(), Step{r.rows}); err != nil {
		t.Fatal(err)
	}
}

func (r *requests) wait(t testing.TB) {
	t.Helper()
	got, err := r.Wait(t.Context(), r.ticket)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.rows {
		r.rows[i].Tokens[0] = got.Leads[i].Token
		r.rows[i].Pos++
	}
	got.Reuse()
}

// BenchmarkGPUPipeline decodes eight requests with the shape of Llama 3.1 8B in bf16, or the
// one that FORGE_SHAPES names, on one
// GPU together, and on two that have half of the layers each with four in either stage.
// With kernels recorded, which takes longer, it tells how long the stages wait.
func BenchmarkGPUPipeline(b *testing.B) {
	const all = 8
	for _, c := range []struct {
		name    string
		l       shard.Layout
		kernels bool
	}{{"PP2", shard.Layout{TP: 1, PP: 2}, false}, {"PP2/recorded", shard.Layout{TP: 1, PP: 2}, true}, {"PP1", shard.Layout{TP: 1, PP: 1}, false}} {
		b.Run(c.name, func(b *testing.B) {
			gpus(b, c.l.Ranks())
			b.Setenv(modelVariable, cmp.Or(os.Getenv("FORGE_SHAPES"), "8B"))
			b.Setenv(gpuVariable, "overlap")
			options := Options{DType: tensor.BF16, Context: 1024, Blocks: all * 64, MaxRows: all, Regions: 1 << 16, Kernels: c.kernels}
			p := startProcesses(b, c.l, time.Minute, options)
			var parts []*requests
			for i := range c.l.PP {
				parts = append(parts, newRequests(p.Leader, i*all/c.l.PP, all/c.l.PP))
				parts[i].submit(b)
			}
			turn := func() {
				for _, r := range parts {
					r.wait(b)
					r.submit(b)
				}
			}
			for range 64 {
				turn()
			}
			start, n := time.Now(), 0
			for b.Loop() {
				turn()
				n++
			}
			took := time.Since(start)
			for _, r := range parts {
				r.wait(b)
			}
			b.ReportMetric(float64(all*n)/took.Seconds(), "tokens/s")
			ranks, err := p.Trace(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			for _, bubble := range trace.Bubbles(ranks) {
				fmt.Fprintf(os.Stderr, "%s: stage %d is idle for %.0f %% of %v\n", c.name, bubble.Stage, 100*bubble.Share(), bubble.Window)
			}
		})
	}
}

// tellRegions logs how long regions of the last steps take, on average, by rank and name.
func tellRegions(b *testing.B, d *decoder, last int) {
	ranks, err := d.Trace(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	text := ""
	for _, r := range ranks {
		newest := uint64(0)
		for _, g := range r.Regions {
			newest = max(newest, g.Step)
		}
		sums, counts := make(map[string]time.Duration), make(map[string]int)
		for _, g := range r.Regions {
			if g.Step+uint64(last) <= newest {
				continue
			}
			name := g.Name
			if found, ok := model.RegionOf(ir.Pos{Source: g.Name, Line: 1}); ok {
				name = found.Name
			}
			name = g.Kind.String() + " " + name
			sums[name] += g.End - g.Start
			counts[name]++
		}
		names := slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return int(sums[b] - sums[a]) })
		for _, name := range names[:min(len(names), 24)] {
			text += fmt.Sprintf("  rank %d %8.1f us a step, %5.2f times: %s\n", r.Rank, sums[name].Seconds()*1e6/float64(last), float64(counts[name])/float64(last), name)
		}
	}
	fmt.Fprint(os.Stderr, text) // the log of a benchmark is cut
}

// TestGPUProcesses decodes with ranks that are processes with a GPU each: in f32 greedy
// texts are those of the reference, for long, and in bf16 logits are near them.
func TestGPUProcesses(t *testing.T) {
	for _, l := range []shard.Layout{{TP: 2, PP: 1}, {TP: 1, PP: 2}} {
		for _, c := range []struct {
			how       string
			dtype     tensor.DType
			tolerance float64
		}{{"overlap", tensor.F32, 1e-5}, {"plain", tensor.F32, 1e-5}, {"overlap", tensor.BF16, 5e-2}} {
			t.Run(fmt.Sprintf("%v, %s, %v", l, c.how, c.dtype), func(t *testing.T) {
				gpus(t, 2)
				t.Setenv(modelVariable, "long")
				t.Setenv(gpuVariable, c.how)
				p := startProcesses(t, l, 20*time.Second, Options{DType: c.dtype, Blocks: 64, MaxTokens: 24, MaxRows: 5})
				gate := Gate{Tokens: 200, Tolerance: c.tolerance}
				for i, n := range []int{1, 3, 17, 30} {
					gate.Prompts = append(gate.Prompts, prompt(i, n, p.self.model.Config.Vocab))
				}
				report, err := gate.Check(t.Context(), p.Leader, reference(t, p.self.model))
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v", report)
			})
		}
	}
}
