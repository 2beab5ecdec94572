package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

func program(t testing.TB, src string) (backend.Into, []*tensor.Tensor) {
	t.Helper()
	g, err := ir.Parse(op.Registry, src)
	if err != nil {
		t.Fatal(err)
	}
	in, err := suite.Inputs(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, cpu.New(), g).(backend.Into), in
}

func full(t testing.TB, v float64, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Full(tensor.F32, v, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestRunInto compares results in the caller's tensors with those of Run: results
// of kernels, an input and a constant that are results, a view, and one result
// twice.
func TestRunInto(t *testing.T) {
	exe, in := program(t, `graph f(%x: f32[3,5]) {
  %c: f32[2] = const {value = f32[2] 1.0 2.0}
  %y: f32[3,5] = exp %x
  %v: f32[5,3] = transpose %y {perm = [1, 0]}
  %z: f32[3,5] = neg %y
  %e: f32[0,5] = narrow %z {axis = 0, start = 0, length = 0}
  return %y, %x, %c, %v, %z, %z, %e
}`)
	want := run(t, exe, in)
	var out []*tensor.Tensor
	for _, y := range want {
		out = append(out, full(t, 7, y.Shape()...))
	}
	for range 2 {
		if err := exe.RunInto(t.Context(), out, in); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !slices.Equal(out[i].Float32(), want[i].Float32()) {
				t.Errorf("result %d is %v, Run gives %v", i, out[i], want[i])
			}
		}
	}
}

// TestRunIntoRefuses gives RunInto tensors that it must not fill.
func TestRunIntoRefuses(t *testing.T) {
	exe, in := program(t, "graph f(%x: f32[2,4]) {\n %y: f32[2,4] = exp %x\n %z: f32[2,4] = neg %x\n return %y, %z\n}")
	good, other := zeros(t, 2, 4), zeros(t, 2, 4)
	both := zeros(t, 3, 4)
	top, err := both.Window(0, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	bottom, err := both.Window(4, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := tensor.Zeros(tensor.F64, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		out  []*tensor.Tensor
		want string
	}{
		"too few": {[]*tensor.Tensor{good}, "f gives 2 outputs, got 1"},
		"missing": {[]*tensor.Tensor{good, nil}, "f: output z is missing"},
		"shape":   {[]*tensor.Tensor{zeros(t, 4, 2), other}, "f: output y is f32[4,2], the program was compiled for f32[2,4]"},
		"type":    {[]*tensor.Tensor{wide, other}, "f: output y is f64[2,4], the program was compiled for f32[2,4]"},
		"same":    {[]*tensor.Tensor{good, good}, "y and z lie in the same memory"},
		"overlap": {[]*tensor.Tensor{bottom, top}, "z and y lie in the same memory"},
		"input":   {[]*tensor.Tensor{good, in[0]}, "lie in the same memory"},
	} {
		if err := exe.RunInto(t.Context(), c.out, in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.want)
		}
	}
	if err := exe.RunInto(t.Context(), []*tensor.Tensor{good, other}, nil); err == nil || err.Error() != "f takes 1 inputs, got 0" {
		t.Errorf("got error %v", err)
	}
}

// TestCacheInPlace appends to a cache, into another tensor and where it is.
func TestCacheInPlace(t *testing.T) {
	exe, in := program(t, `graph f(%c: f32[1,1,64,16], %n: f32[1,1,1,16], %p: i64[1]) {
  %d: f32[1,1,64,16] = kv_append %c, %n, %p
  return %d
}`)
	in[2].Int64()[0] = 5
	before := slices.Clone(in[0].Float32())
	want := run(t, exe, in)[0]
	away := []*tensor.Tensor{zeros(t, 1, 1, 64, 16)}
	if err := exe.RunInto(t.Context(), away, in); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(in[0].Float32(), before) {
		t.Error("the cache that went in has changed")
	}
	if err := exe.RunInto(t.Context(), in[:1], in); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]*tensor.Tensor{"elsewhere": away[0], "in place": in[0]} {
		if !slices.Equal(got.Float32(), want.Float32()) || slices.Equal(got.Float32(), before) {
			t.Errorf("%s: the cache is not that of Run", name)
		}
	}
}

// TestNoAllocations runs programs of no, one and several kernels, on one and on
// more threads, under contexts that cannot and that can end.
func TestNoAllocations(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, src := range map[string]string{
		"empty":  "graph f(%x: f32[7]) {\n return %x\n}",
		"one":    "graph f(%x: f32[7]) {\n %y: f32[7] = exp %x\n return %y\n}",
		"shared": "graph f(%x: f32[64,256], %w: f32[256,256]) {\n %y: f32[64,256] = matmul %x, %w\n %z: f32[64,256] = gelu %y\n return %z\n}",
	} {
		exe, in := program(t, src)
		out := []*tensor.Tensor{zeros(t, exe.Graph().Outputs[0].Spec.Shape...)}
		for kind, ctx := range map[string]context.Context{"plain": context.Background(), "cancellable": ctx} {
			count := testing.AllocsPerRun(100, func() {
				if err := exe.RunInto(ctx, out, in); err != nil {
					t.Fatal(err)
				}
			})
			if count != 0 && !underRace { // which drops frames from the pool
				t.Errorf("%s, %s context: %v allocations in a run", name, kind, count)
			}
		}
	}
}

// TestContexts runs a program under one context after another, of which some have
// ended.
func TestContexts(t *testing.T) {
	exe, in := program(t, "graph f(%x: f32[7]) {\n %y: f32[7] = exp %x\n return %y\n}")
	for i := range 6 {
		ctx, cancel := context.WithCancelCause(t.Context())
		if _, err := exe.Run(ctx, in...); err != nil {
			t.Error(err)
		}
		cause := errors.New("no more")
		cancel(cause)
		if _, err := exe.Run(ctx, in...); err != cause {
			t.Errorf("run %d: got error %v, not the cause", i, err)
		}
	}
}

// TestStopWithin ends runs of one long kernel of each kind once its first result
// is there, and wants its last one never written.
func TestStopWithin(t *testing.T) {
	var chain strings.Builder
	chain.WriteString("graph f(%x0: f32[4000000]) {\n")
	for i := range 24 {
		fmt.Fprintf(&chain, " %%x%d: f32[4000000] = gelu %%x%d\n", i+1, i)
	}
	chain.WriteString(" return %x24\n}")
	for name, src := range map[string]string{
		"flat nest":   chain.String(),
		"contraction": "graph f(%x: f32[8,1024,1024], %w: f32[1024,1024]) {\n %y: f32[8,1024,1024] = matmul %x, %w\n return %y\n}",
		"attention":   "graph f(%q: f32[1,48,1024,128], %k: f32[1,48,1024,128], %v: f32[1,48,1024,128]) {\n %y: f32[1,48,1024,128] = sdpa %q, %k, %v\n return %y\n}",
	} {
		g, err := ir.Parse(op.Registry, src)
		if err != nil {
			t.Fatal(err)
		}
		r, err := pass.Run(g, pass.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b := cpu.New()
		b.Threads = 1 // so that units are done in order
		exe := compile(t, b, r.Graph).(backend.Into)
		if n := len(exe.Kernels()); n != 1 {
			t.Fatalf("%s: %d kernels", name, n)
		}
		var in []*tensor.Tensor
		for _, v := range r.Graph.Inputs {
			in = append(in, full(t, 1, v.Spec.Shape...))
		}
		const unwritten = -1
		out := full(t, unwritten, r.Graph.Outputs[0].Spec.Shape...)
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		go func() {
			begun := (*atomic.Uint32)(unsafe.Pointer(&out.Float32()[0]))
			for begun.Load() == math.Float32bits(unwritten) {
				runtime.Gosched()
			}
			cancel(enough)
		}()
		if err := exe.RunInto(ctx, []*tensor.Tensor{out}, in); err != enough {
			t.Errorf("%s: got error %v, not the cause", name, err)
		}
		if last := out.Float32()[out.Len()-1]; last != unwritten {
			t.Errorf("%s: the last result is %v, written after the run had been ended", name, last)
		}
	}
}
