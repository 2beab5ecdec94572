package interp_test

import (
	"context"
	"encoding/base64"
	"errors"
	"sync/atomic"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

func parse(t testing.TB, src string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, src)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func from(t testing.TB, shape []int, data ...float32) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromFloat32(shape, data)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestRun(t *testing.T) {
	g := parse(t, `graph layer(%x: f32[2,3], %w: f32[3,2], %b: f32[2]) {
  %0: f32[2,2] = matmul %x, %w
  %1: f32[2,2] = add %0, %b
  %2: f32[2,2] = relu %1
  %3: f32[] = sum %2
  return %2, %3, %x, %2
}`)
	exe, err := interp.New().Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	x := from(t, []int{2, 3}, 1, 2, 3, 4, 5, 6)
	out, err := exe.Run(t.Context(), x, from(t, []int{3, 2}, 1, 0, 0, 1, 1, 1), from(t, []int{2}, -5, 0.5))
	if err != nil {
		t.Fatal(err)
	}
	want := from(t, []int{2, 2}, 0, 5.5, 5, 11.5)
	if !tensor.Identical(out[0], want) || out[1].Item() != 22 || !tensor.Identical(out[2], x) {
		t.Fatalf("got %v", out)
	}
	// Outputs belong to the caller.
	out[2].SetElem(0, 99)
	out[3].SetElem(0, 99)
	if x.Elem(0) != 1 || out[0].Elem(0) != 0 {
		t.Error("outputs share memory with an input or with one another")
	}
}

func TestRunRejects(t *testing.T) {
	g := parse(t, "graph f(%x: f32[2]) {\n %y: f32[2] = exp %x\n return %y\n}")
	exe, err := interp.New().Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string][]*tensor.Tensor{
		"f takes 1 inputs, got 0":                                   nil,
		"f: input x is f32[3], the program was compiled for f32[2]": {from(t, []int{3}, 1, 2, 3)},
		"f: input x is missing":                                     {nil},
	} {
		if _, err := exe.Run(t.Context(), in...); err == nil || err.Error() != name {
			t.Errorf("got error %v, want %s", err, name)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	g := parse(t, "graph f(%x: f32[65536,1], %y: f32[1,32768]) {\n %z: f32[65536,32768] = mul %x, %y\n %s: f32[] = sum %z\n return %s\n}")
	_, err := interp.New().Compile(t.Context(), g)
	if want := "f needs 8192 MiB for its intermediate values; the limit is 4096 MiB"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

// TestViewsExtendStorage counts the memory of a value that is read through a
// view after its own last use.
func TestViewsExtendStorage(t *testing.T) {
	g := parse(t, `graph f(%x: f32[1024]) {
  %0: f32[1024] = exp %x
  %1: f32[32,32] = reshape %0 {shape = [32, 32]}
  %2: f32[1024] = neg %x
  %3: f32[] = sum %2
  %4: f32[32,32] = add %1, %3
  return %4
}`)
	b := interp.New()
	b.MaxBytes = 2*4096 + 4 // %0 and %2 with %3; then %0, %3 and %4
	if _, err := b.Compile(t.Context(), g); err != nil {
		t.Error(err)
	}
	b.MaxBytes--
	if _, err := b.Compile(t.Context(), g); err == nil {
		t.Error("the storage under a view was not counted")
	}
}

// TestDonation appends to a cache that the run made in place, and to an input
// and to a constant in a copy.
func TestDonation(t *testing.T) {
	g := parse(t, `graph f(%c: f32[1,1,64,16], %n: f32[1,1,1,16], %p: i64[]) {
  %k: f32[1,1,64,16] = const {value = f32[1,1,64,16] @0}
  %0: f32[1,1,64,16] = kv_append %c, %n, %p
  %1: f32[1,1,64,16] = kv_append %k, %n, %p
  %2: f32[1,1,64,16] = add %0, %1
  %3: f32[1,1,64,16] = kv_append %2, %n, %p
  return %3, %k
}
data @0 = "`+base64.StdEncoding.EncodeToString(make([]byte, 4*64*16))+`"`)
	exe, err := interp.New().Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := tensor.Full(tensor.F32, 1, 1, 1, 64, 16)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := tensor.Full(tensor.F32, 5, 1, 1, 1, 16)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second run must find the constant as it was
		out, err := exe.Run(t.Context(), cache, tokens, tensor.Scalar(tensor.I64, 3))
		if err != nil {
			t.Fatal(err)
		}
		if out[0].At(0, 0, 3, 0) != 5 || out[0].At(0, 0, 2, 0) != 1 || out[1].At(0, 0, 3, 0) != 0 || cache.At(0, 0, 3, 0) != 1 {
			t.Errorf("got %v, %v; the cache is %v", out[0].At(0, 0, 3, 0), out[1].At(0, 0, 3, 0), cache.At(0, 0, 3, 0))
		}
	}
}

// TestInPlace has memory for one cache.
func TestInPlace(t *testing.T) {
	g := parse(t, `graph f(%c: f32[1,1,64,16], %n: f32[1,1,1,16], %p: i64[]) {
  %0: f32[1,1,64,16] = exp %c
  %1: f32[1,1,64,16] = kv_append %0, %n, %p
  return %1
}`)
	b := interp.New()
	b.MaxBytes = 4096
	if _, err := b.Compile(t.Context(), g); err != nil {
		t.Error(err)
	}
}

// TestCancel stops programs that would take minutes. The run is known to be
// inside the kernel: the context is cancelled by the kernel's own polling.
func TestCancel(t *testing.T) {
	for name, src := range map[string]string{
		"matmul":    "graph f(%x: f32[8192,8192]) {\n %y: f32[8192,8192] = matmul %x, %x\n return %y\n}",
		"linear":    "graph f(%x: f32[8192,8192]) {\n %y: f32[8192,8192] = linear %x, %x\n return %y\n}",
		"attention": "graph f(%x: f32[1,16,16384,64]) {\n %y: f32[1,16,16384,64] = sdpa %x, %x, %x\n return %y\n}",
		"conv2d":    "graph f(%x: f32[256,256,24,24]) {\n %y: f32[256,256,1,1] = conv2d %x, %x\n return %y\n}",
		"pool":      "graph f(%x: f32[1,1,4096,4096]) {\n %y: f32[1,1,2049,2049] = max_pool2d %x {kernel = [2048, 2048], stride = [1, 1]}\n return %y\n}",
	} {
		t.Run(name, func(t *testing.T) {
			g := parse(t, src)
			exe, err := interp.New().Compile(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			x, err := tensor.Zeros(tensor.F32, g.Inputs[0].Spec.Shape...)
			if err != nil {
				t.Fatal(err)
			}
			stopped := errors.New("stopped by the test")
			cancelled, cancel := context.WithCancelCause(t.Context())
			polls := &pollingContext{Context: cancelled, after: 20, cancel: func() { cancel(stopped) }}
			if _, err := exe.Run(polls, x); !errors.Is(err, stopped) {
				t.Errorf("got error %v, want the cause", err)
			}
		})
	}
}

// pollingContext cancels itself at the n-th look at it.
type pollingContext struct {
	context.Context
	after  int32
	cancel func()
	looks  atomic.Int32
}

func (c *pollingContext) Err() error {
	if c.looks.Add(1) == c.after {
		c.cancel()
	}
	return c.Context.Err()
}

// TestWindows runs views that share storage and views that cannot, also where
// an output is a window on another.
func TestWindows(t *testing.T) {
	g := parse(t, `graph views(%x: f32[4,3]) {
  %0: f32[4,3] = neg %x
  %1: f32[1,3], %2: f32[3,3] = split %0 {axis = 0, sizes = [1, 3]}
  %3: f32[3,3] = narrow %2 {axis = 0, length = 3, start = -1, step = -1}
  %4: f32[2,1,3] = expand %1 {shape = [2, 1, 3]}
  %5: f32[4,1], %6: f32[4,2] = split %x {axis = 1, sizes = [1, 2]}
  return %1, %2, %3, %4, %6
}`)
	exe, err := interp.New().Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	x := from(t, []int{4, 3}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	out, err := exe.Run(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float32{
		{0, -1, -2}, {-3, -4, -5, -6, -7, -8, -9, -10, -11}, {-9, -10, -11, -6, -7, -8, -3, -4, -5}, {0, -1, -2, 0, -1, -2}, {1, 2, 4, 5, 7, 8, 10, 11},
	} {
		for k, w := range want {
			if got := out[i].Float32()[k]; got != w {
				t.Errorf("output %d: element %d is %g, want %g", i, k, got, w)
			}
		}
	}
}
