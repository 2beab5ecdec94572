package portable_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/portable"
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

// TestFusedEqual demands the interpreter's bits of a fused region over lines of
// all lengths around those of a vector and of a chunk, contiguous, broadcast and
// transposed.
func TestFusedEqual(t *testing.T) {
	onSets(t, func(t *testing.T, b *portable.Backend) {
		for _, n := range []int{1, 15, 16, 17, 40, 1023, 1024, 1025, 2100} {
			g := parse(t, fmt.Sprintf(`graph f(%%x: f32[3,%[1]d], %%row: f32[%[1]d], %%t: f32[%[1]d,3], %%s: f32[]) {
 %%u: f32[3,%[1]d] = transpose %%t
 %%y: f32[3,%[1]d] = fused %%x, %%row, %%u, %%s (%%a: f32[], %%b: f32[], %%c: f32[], %%d: f32[]) {
   %%0: f32[] = mul %%a, %%b
   %%1: f32[] = gelu %%0
   %%2: bool[] = lt %%c, %%d
   %%3: f32[] = sub %%1, %%c
   %%4: f32[] = where %%2, %%3, %%1
   %%5: f32[] = tanh %%4
   return %%5
 }
 return %%y
}`, n))
			var in []*tensor.Tensor
			for i, v := range g.Inputs {
				x, err := tensor.Randn(uint64(i+1), v.Spec.Shape...)
				if err != nil {
					t.Fatal(err)
				}
				in = append(in, x)
			}
			exe := compile(t, b, g)
			for _, k := range exe.Kernels() {
				if strings.Contains(k.Kernel, "reference") {
					t.Fatalf("%s runs as %s: %s", k.Value, k.Kernel, k.Reason)
				}
			}
			got, want := run(t, exe, in)[0], run(t, compile(t, interp.New(), g), in)[0]
			for i := range want.Len() {
				if math.Float64bits(got.Elem(i)) != math.Float64bits(want.Elem(i)) {
					t.Fatalf("with lines of %d, element %d is %g, the interpreter has %g", n, i, got.Elem(i), want.Elem(i))
				}
			}
		}
	})
}

// TestReference leaves to the operator's evaluation what has no vector form.
func TestReference(t *testing.T) {
	for src, want := range map[string]string{
		"graph f(%x: f64[4]) {\n %y: f64[4] = neg %x\n return %y\n}":                                      "%y is f64; vectors hold f32",
		"graph f(%x: f32[2,2097152], %w: f32[2097152,3]) {\n %y: f32[2,3] = matmul %x, %w\n return %y\n}": "sums of 2097152 products need a panel of 128 MiB",
		"graph f(%t: f32[5,4], %i: i64[3]) {\n %y: f32[3,4] = gather %t, %i {axis = 0}\n return %y\n}":    "%i is i64; vectors hold f32",
	} {
		exe := compile(t, portable.New(), parse(t, src))
		if k := exe.Kernels()[0]; !strings.HasSuffix(k.Kernel, ", reference") || k.Reason != want {
			t.Errorf("%s, because %s, not %s", k.Kernel, k.Reason, want)
		}
		if why := exe.(*portable.Executable).Reference(); why != want {
			t.Errorf("the program is left to the operators because %q, not %s", why, want)
		}
	}
}

// TestUnvectored tells nodes that other backends have kernels for from those that none has.
func TestUnvectored(t *testing.T) {
	g := parse(t, `graph f(%x: f32[1,1,4,4], %w: f32[1,1,3,3], %s: f64[4]) {
		%c: f32[1,1,2,2] = conv2d %x, %w
		%y: f32[1,1,2,2] = neg %c
		%d: f64[4] = neg %s
		%e: f64[4] = exp %d
		return %y, %e
	}`)
	var got []string
	for _, n := range compile(t, portable.New(), g).(*portable.Executable).Unvectored() {
		got = append(got, n.Out[0].String())
	}
	if want := []string{"%c", "%d"}; !slices.Equal(got, want) {
		t.Errorf("nodes without vector functions are %v, want %v", got, want)
	}
}

// TestEmptySums has products over no terms, in several panels.
func TestEmptySums(t *testing.T) {
	onSets(t, func(t *testing.T, b *portable.Backend) {
		g := parse(t, "graph f(%x: f32[2,0], %w: f32[0,70], %b: f32[70]) {\n %y: f32[2,70] = linear %x, %w, %b\n return %y\n}")
		var in []*tensor.Tensor
		for _, v := range g.Inputs {
			x, err := tensor.Full(tensor.F32, 3, v.Spec.Shape...)
			if err != nil {
				t.Fatal(err)
			}
			in = append(in, x)
		}
		y := run(t, compile(t, b, g), in)[0]
		for i := range y.Len() {
			if y.Elem(i) != 3 {
				t.Fatalf("element %d is %g, the bias is 3", i, y.Elem(i))
			}
		}
	})
}

// TestCancelledRun ends a run within its only kernel, whose 550 billion operations
// take longer than the context lives on any core, and runs the program again.
func TestCancelledRun(t *testing.T) {
	g := parse(t, "graph f(%x: f32[32,1024,1024], %w: f32[1024,1024]) {\n %y: f32[32,1024,1024] = matmul %x, %w\n return %y\n}")
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		x, err := tensor.Full(tensor.F32, 1, v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, x)
	}
	exe := compile(t, portable.New(), g)
	late := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Millisecond, late)
	defer cancel()
	if _, err := exe.Run(ctx, in...); !errors.Is(err, late) {
		t.Errorf("got error %v, not the cause", err)
	}
	if testing.Short() {
		return // a whole run takes half a second
	}
	if y := run(t, exe, in)[0]; y.Elem(32<<20-1) != 1024 {
		t.Errorf("the next run gives %v", y.Elem(32<<20-1))
	}
}
