package engine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// gpu is the backend of the first GPU, without which a test is skipped.
func gpu(t testing.TB) *cuda.Backend {
	t.Helper()
	b, err := cuda.New()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no GPU, or no NVRTC: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// llamaShape is a decoder of the shapes of Llama 3.
func llamaShape(hidden, layers, heads, ff int, tied bool) model.Config {
	return model.Config{
		Family: "llama", Vocab: 128256, Hidden: hidden, Layers: layers, Heads: heads, KVHeads: 8, HeadDim: hidden / heads, FF: ff,
		Context: 8192, Eps: 1e-5, Rope: &model.Rope{Base: 500000}, Tied: tied,
	}
}

// shapesOfLlama are those that decodes are measured with.
var shapesOfLlama = map[string]model.Config{
	"1B": llamaShape(2048, 16, 32, 8192, true), "8B": llamaShape(4096, 32, 32, 14336, false),
	"8B-quarter": llamaShape(4096, 8, 32, 14336, false), // its layers, for a quick look
}

// TestGPU compares small models on a GPU with the reference.
func TestGPU(t *testing.T) {
	for _, c := range []model.Config{tinyConfig(), llamaConfig()} {
		t.Run(c.Family, func(t *testing.T) {
			b := gpu(t)
			m := seeded(t, c)
			l := local(t, m, 1, 1, LocalOptions{Options: Options{BlockSize: 4, Blocks: 64, MaxTokens: 24, MaxRows: 5}, Backend: b})
			gate := Gate{Tokens: 4, Tolerance: 1e-5}
			for i, n := range []int{1, 3, 17, 30} {
				gate.Prompts = append(gate.Prompts, prompt(i, n, c.Vocab))
			}
			report, err := gate.Check(t.Context(), l, reference(t, m))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", report)
		})
	}
}

// TestGPUHalf compares a model in bf16, whose heads are of the size that the quick kernels
// of decoding are for, with the reference in f32; and greedy requests, whose steps are begun
// ahead, with those that ask for all logits.
func TestGPUHalf(t *testing.T) {
	b := gpu(t)
	c := model.Config{Family: "llama", Vocab: 1000, Hidden: 256, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 64, FF: 512, Context: 512, Eps: 1e-5, Rope: &model.Rope{Base: 10000}}
	m := seeded(t, c)
	l := local(t, m, 1, 1, LocalOptions{Options: Options{DType: tensor.BF16, BlockSize: 16, Blocks: 96, MaxRows: 4}, Backend: b})
	gate := Gate{Tokens: 6, Tolerance: 0.03}
	for i, n := range []int{1, 15, 40} {
		gate.Prompts = append(gate.Prompts, prompt(i, n, c.Vocab))
	}
	report, err := gate.Check(t.Context(), l, reference(t, m))
	if err != nil {
		t.Error(err)
	}
	t.Logf("%+v", report)
	const tokens = 150
	var lists [2][]int32
	for i := range lists {
		d := newDecoder(t, l)
		d.id, d.token[0] = uint64(100+i), 17
		for range tokens {
			d.submitAs(t, i == 0)
			if err := d.wait(t); err != nil {
				t.Fatal(err)
			}
			lists[i] = append(lists[i], d.token[0])
		}
		if err := l.Release(t.Context(), d.id); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(lists[0], lists[1]) {
		t.Errorf("greedy requests give\n%v, and by all logits\n%v", lists[0], lists[1])
	}
}

// BenchmarkGPUDecode decodes one request with the shapes of Llama 3, in bf16 with
// weights from a seed, and reports the share of the device's copy bandwidth that reading
// the weights takes: of a token, which has the engine and the choice in it, and of the
// program alone; beside it the program by the clock of the device. FORGE_SHAPES picks some
// of the shapes.
func BenchmarkGPUDecode(b *testing.B) {
	for _, name := range []string{"1B", "8B"} {
		if pick := os.Getenv("FORGE_SHAPES"); pick != "" && !strings.Contains(pick, name) {
			continue
		}
		b.Run(name, func(b *testing.B) { benchmarkGPUDecode(b, shapesOfLlama[name]) })
	}
}

func benchmarkGPUDecode(b *testing.B, c model.Config) {
	device := gpu(b)
	copied, err := device.Context.CopyRate(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	m, err := model.Seeded(c, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	options := Options{DType: tensor.BF16, Context: 2048, MaxRows: 1}
	r := &rank{model: m, place: shard.Single(), sizes: options.sizes(shard.Layout{TP: 1, PP: 1}, c)}
	if _, err := m.Graph(r.form(bucket{1, 1, true})); err != nil {
		b.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "weights made in %v\n", time.Since(start).Round(time.Millisecond))
	for _, overlap := range []bool{false, true} {
		b.Run(fmt.Sprintf("overlap=%v", overlap), func(b *testing.B) {
			device.Overlap = overlap
			decodeGPU(b, device, m, options, copied)
		})
	}
}

func decodeGPU(b *testing.B, device *cuda.Backend, m *model.Model, options Options, copied float64) {
	c, start := m.Config, time.Now()
	l, err := Local(b.Context(), m, shard.Layout{TP: 1, PP: 1}, LocalOptions{Backend: device, Options: options, Deadline: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	}()
	d := newDecoder(b, l)
	d.step(b)
	constants, held := device.Shared()
	fmt.Fprintf(os.Stderr, "ready after %v: %d constants of %s on the device; copies within it move %.0f GB/s\n", time.Since(start).Round(time.Millisecond), constants, display.FormatBytes(held), copied/1e9)
	for d.pos < 128 {
		d.step(b)
	}
	var steps, alone, timed []time.Duration
	p := l.self.program(bucket{1, 1, true})
	for b.Loop() {
		start := time.Now()
		d.step(b)
		steps = append(steps, time.Since(start))
	}
	if err := p.ahead.drop(l.health.ctx); err != nil {
		b.Fatal(err)
	}
	for range 100 {
		start := time.Now()
		if err := p.run(l.health.ctx); err != nil {
			b.Fatal(err)
		}
		alone = append(alone, time.Since(start))
		took, err := p.bound.(backend.Timed).Time(l.health.ctx, p.outputs, p.inputs)
		if err != nil {
			b.Fatal(err)
		}
		timed = append(timed, took)
	}
	streamed := c.WeightBytes(shard.Single(), tensor.BF16)
	if !c.Tied {
		streamed -= 2 * int64(c.Vocab) * int64(c.Hidden) // of the embedding one row is read
	}
	middle := func(list []time.Duration) float64 { slices.Sort(list); return list[len(list)/2].Seconds() }
	b.ReportMetric(1e3*middle(steps), "ms/token")
	b.ReportMetric(1e3*middle(alone), "ms/program")
	b.ReportMetric(1e3*middle(timed), "ms/device")
	b.ReportMetric(100*float64(streamed)/middle(steps)/copied, "%copy")
	b.ReportMetric(100*float64(streamed)/middle(alone)/copied, "%copy/program")
	if !device.Overlap {
		profileGPU(b, l)
	}
}

// profileGPU logs where the time of a decode goes, by kind of node: its operator and the
// shapes of its operands.
func profileGPU(b *testing.B, l *Leader) {
	type entry struct {
		kind  string
		count int
		took  time.Duration
		bytes int64
	}
	p := l.self.program(bucket{1, 1, true})
	told := make(map[string]string)
	for _, k := range p.exe.Kernels() {
		told[k.Value] = k.Kernel
	}
	best := make(map[string]*entry)
	for range 5 {
		list := make(map[string]*entry)
		ctx := backend.WithObserver(l.health.ctx, func(n *ir.Node, start, end time.Time) {
			kind := n.Op.Name
			moved := int64(0)
			for _, v := range n.In {
				kind += fmt.Sprintf(" %v", v.Spec)
				if v.Def != nil && v.Def.Op.Class == ir.Constant {
					moved += v.Spec.Bytes()
				}
			}
			kind = kind[:min(len(kind), 90)] + " | " + told[n.Out[0].String()]
			e := list[kind]
			if e == nil {
				e = &entry{kind: kind}
				list[kind] = e
			}
			e.count, e.took, e.bytes = e.count+1, e.took+end.Sub(start), e.bytes+moved
		})
		if err := p.run(ctx); err != nil {
			b.Fatal(err)
		}
		for kind, e := range list {
			if old := best[kind]; old == nil || e.took < old.took {
				best[kind] = e
			}
		}
	}
	var all []*entry
	sum := time.Duration(0)
	for _, e := range best {
		all = append(all, e)
		sum += e.took
	}
	slices.SortFunc(all, func(a, b *entry) int { return int(b.took - a.took) })
	text := fmt.Sprintf("%d steps take %v in all:\n", len(p.exe.Kernels()), sum)
	for _, e := range all[:min(len(all), 24)] {
		text += fmt.Sprintf("%5.1f%% %9.1f us %4d x %7.2f us %6.0f GB/s  %s\n", 100*float64(e.took)/float64(sum), e.took.Seconds()*1e6, e.count,
			e.took.Seconds()*1e6/float64(e.count), float64(e.bytes)/e.took.Seconds()/1e9, e.kind)
	}
	fmt.Fprint(os.Stderr, text) // the log of a benchmark is cut
}
