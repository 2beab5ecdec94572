package webgpu_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/backend/wgsl/webgpu"
)

// dawn is a device, or the test is skipped.
func dawn(t *testing.T) *webgpu.Device {
	t.Helper()
	d, err := webgpu.Open(t.Context())
	if missing := (*webgpu.Missing)(nil); errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// example is the plan of package wgsl that was written by hand: t = x + table[index],
// of 4 rows of 100, and y the sum of each row.
func example(t *testing.T) *wgsl.Plan {
	t.Helper()
	data, err := os.ReadFile("../testdata/example.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := wgsl.ReadPlan(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// filled is memory of the example: x is i/4, row r of the table is all r, and the
// indices are as given.
func filled(p *wgsl.Plan, index ...uint64) wgsl.Memory {
	m := p.NewMemory()
	for i := range 400 {
		binary.LittleEndian.PutUint32(m[0][4*i:], math.Float32bits(float32(i)/4))
	}
	for i := range 500 {
		binary.LittleEndian.PutUint32(m[1][4*i:], math.Float32bits(float32(i/100)))
	}
	for i, x := range index {
		binary.LittleEndian.PutUint64(m[2][8*i:], x)
	}
	return m
}

// TestRun runs the example, and one whose index is out of range.
func TestRun(t *testing.T) {
	d, p := dawn(t), example(t)
	t.Log(d.Adapter())
	index := []uint64{4, 0, 3, 1}
	m := filled(p, index...)
	if err := d.Run(t.Context(), p, m); err != nil {
		t.Fatal(err)
	}
	for r := range 4 {
		want := float32(99*100/2+r*100*100)/4 + 100*float32(index[r])
		if got := math.Float32frombits(binary.LittleEndian.Uint32(m[4][4*r:])); got != want {
			t.Errorf("row %d: %v, want %v", r, got, want)
		}
	}
	if p.Faulted(m) {
		t.Error("it faulted")
	}
	m = filled(p, 4, 0, 5, 1)
	if err := d.Run(t.Context(), p, m); err != nil || !p.Faulted(m) {
		t.Errorf("an index out of range: %v, and the fault %v", err, m[5])
	}
}

// TestAdapter: an adapter has a name.
func TestAdapter(t *testing.T) {
	if name := dawn(t).Adapter(); !strings.HasPrefix(name, "Dawn on ") || strings.Contains(name, "undefined") {
		t.Errorf("the adapter is %q", name)
	}
}

// TestErrors changes one thing of the example that only a device can see.
func TestErrors(t *testing.T) {
	d := dawn(t)
	source := func(p *wgsl.Plan, from, to string) {
		if p.Modules[1].Source = strings.Replace(p.Modules[1].Source, from, to, 1); !strings.Contains(p.Modules[1].Source, to) {
			t.Errorf("the example has no %q", from)
		}
	}
	for name, c := range map[string]struct {
		change func(*wgsl.Plan)
		want   webgpu.Error
	}{
		"name": {func(p *wgsl.Plan) { source(p, "var sum = 0.0", "var sum = none") },
			webgpu.Error{Kind: webgpu.Compile, Message: "sum_rows:8:13: unresolved value 'none'", Module: "sum_rows", Line: 8, Column: 13}},
		"type": {func(p *wgsl.Plan) { source(p, "var sum = 0.0", "var sum = 0u") },
			webgpu.Error{Kind: webgpu.Compile, Message: "sum_rows:9:", Module: "sum_rows", Line: 9, Column: 48}},
		"not WGSL": {func(p *wgsl.Plan) { source(p, "@compute", "compute") },
			webgpu.Error{Kind: webgpu.Compile, Message: "sum_rows:6:1: ", Module: "sum_rows", Line: 6, Column: 1}},
		"entry point": {func(p *wgsl.Plan) { p.Dispatches[1].Entry = "mean" },
			webgpu.Error{Kind: webgpu.Validation, Message: "entry point mean"}},
		"access": {func(p *wgsl.Plan) { p.Dispatches[1].Bindings[1].Write = false },
			webgpu.Error{Kind: webgpu.Validation, Message: "%y"}},
		"a binding less": {func(p *wgsl.Plan) { p.Dispatches[1].Bindings = p.Dispatches[1].Bindings[:1] },
			webgpu.Error{Kind: webgpu.Validation, Message: "%y"}},
		"too small": {func(p *wgsl.Plan) { source(p, "array<f32>", "array<f32, 500>") },
			webgpu.Error{Kind: webgpu.Validation, Message: "running example: "}},
		"feature": {func(p *wgsl.Plan) {
			p.Features = []string{wgsl.ShaderF16}
			p.Modules[0].Source = "enable f16;\n" + p.Modules[0].Source
		},
			webgpu.Error{Kind: webgpu.NoFeature, Message: "has no shader-f16, which example needs"}},
		"feature not named": {func(p *wgsl.Plan) { p.Modules[0].Source = "enable f16;\n" + p.Modules[0].Source },
			webgpu.Error{Kind: webgpu.Compile, Message: "add_rows:1:", Module: "add_rows", Line: 1, Column: 8}},
		"limit": {func(p *wgsl.Plan) { p.Limits.Invocations = 1 << 20 },
			webgpu.Error{Kind: webgpu.Limit, Message: ", and example needs 1048576"}},
		"more than said": {func(p *wgsl.Plan) { source(p, "array<f32, 32>", "array<f32, 5000>") },
			webgpu.Error{Kind: webgpu.Validation, Message: "16384"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "feature" && d.Features() != nil {
				t.Skip("the adapter has it")
			}
			p := example(t)
			c.change(p)
			err := d.Run(t.Context(), p, filled(p, 0, 0, 0, 0))
			var got *webgpu.Error
			if !errors.As(err, &got) || !strings.Contains(got.Message, c.want.Message) {
				t.Fatalf("the error is %v, want %q in it", err, c.want.Message)
			}
			if got.Message = c.want.Message; *got != c.want {
				t.Errorf("the error is %+v, want %+v", *got, c.want)
			}
		})
	}
	p := example(t)
	if err := d.Run(t.Context(), p, filled(p, 0, 0, 0, 0)); err != nil {
		t.Errorf("after all of them: %v", err)
	}
	if err := d.Run(t.Context(), p, wgsl.Memory{}); err == nil {
		t.Error("memory without buffers runs")
	}
}

// forever never ends: what it waits for is nothing that a compiler can know.
const forever = `@group(0) @binding(0) var<storage, read_write> word: atomic<u32>;
@compute @workgroup_size(1)
fn main() { while (atomicLoad(&word) == 0u) { } }
`

// TestCancel ends a run that would not end, and runs on.
func TestCancel(t *testing.T) {
	d := dawn(t)
	p := &wgsl.Plan{
		Version: wgsl.Version, Name: "forever", Features: []string{}, Limits: wgsl.DefaultLimits,
		Modules:    []wgsl.Module{{Name: "k", Source: forever}},
		Buffers:    []wgsl.Buffer{{Name: "fault", Kind: wgsl.Fault, Bytes: 4}},
		Dispatches: []wgsl.Dispatch{{Entry: "main", Groups: [3]int{1, 1, 1}, Workgroup: [3]int{1, 1, 1}, Bindings: []wgsl.Binding{{Size: 4, Write: true}}, Node: "%x"}},
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	because := errors.New("it takes too long")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, because)
	defer cancel()
	if err := d.Run(ctx, p, p.NewMemory()); err != because {
		t.Errorf("the error is %v, want %v", err, because)
	}
	if err := d.Run(ctx, p, p.NewMemory()); err != because {
		t.Errorf("under a context that has ended: %v, want %v", err, because)
	}
	p = example(t)
	if err := d.Run(t.Context(), p, filled(p, 0, 0, 0, 0)); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// TestConcurrent runs plans from many goroutines, while contexts of some of them end.
func TestConcurrent(t *testing.T) {
	d, p := dawn(t), example(t)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			m := filled(p, uint64(i%5), 0, 0, 0)
			ctx, cancel := context.WithCancel(t.Context())
			if i%4 == 3 {
				time.AfterFunc(time.Duration(i)*10*time.Millisecond, cancel)
			}
			defer cancel()
			err := d.Run(ctx, p, m)
			want := float32(99*100/2)/4 + 100*float32(i%5)
			if got := math.Float32frombits(binary.LittleEndian.Uint32(m[4])); ctx.Err() == nil && (err != nil || got != want) {
				t.Errorf("run %d: %v, %v, want %v", i, got, err, want)
			}
		})
	}
	all.Wait()
}
