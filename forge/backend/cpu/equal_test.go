package cpu_test

import (
	"fmt"
	"math"
	"testing"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// arguments are float32 numbers from all over their range: every bit pattern in
// equal steps, and dense around where the functions change their method.
func arguments(t *testing.T) *tensor.Tensor {
	t.Helper()
	var list []float32
	const step = 40_009
	for bits := uint64(0); bits < 1<<32; bits += step {
		list = append(list, math.Float32frombits(uint32(bits)))
	}
	for x := -120.0; x < 120; x += 0.0031 {
		list = append(list, float32(x))
	}
	for _, at := range []float32{0, 0.625, 1, 1.25, 14.6, 15, 17, 89, 104, 110, 0x1p-126} {
		for d := range uint32(40) {
			bits := math.Float32bits(at) + d - 20*min(1, math.Float32bits(at))
			list = append(list, math.Float32frombits(bits), -math.Float32frombits(bits))
		}
	}
	x, err := tensor.From([]int{len(list)}, list)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestElementwiseEqual demands the interpreter's bits of every operator that has
// a scalar form. NaNs need not have the same payload.
func TestElementwiseEqual(t *testing.T) {
	x := arguments(t)
	y, err := tensor.Zeros(tensor.F32, x.Len())
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Len() { // the same numbers in another order
		y.Float32()[i] = x.Float32()[i*7%x.Len()]
	}
	var graphs []*ir.Graph
	for _, node := range []string{
		"add %x, %y", "sub %x, %y", "mul %x, %y", "div %x, %y", "maximum %x, %y", "minimum %x, %y",
		"neg %x", "abs %x", "sqrt %x", "rsqrt %x", "exp %x", "log %x", "tanh %x", "sigmoid %x",
		"relu %x", "silu %x", "erf %x", "gelu %x", "sin %x", "cos %x", "atan %x", "floor %x", "ceil %x", "round %x", "pow %x, %y", `gelu %x {approximate = "tanh"}`,
	} {
		src := fmt.Sprintf("graph f(%%x: f32[%d], %%y: f32[%d]) {\n %%z: f32[%d] = %s\n return %%z\n}", x.Len(), x.Len(), x.Len(), node)
		g, err := ir.Parse(op.Registry, src)
		if err != nil {
			t.Fatal(err)
		}
		graphs = append(graphs, g)
	}
	onTargets(t, func(t *testing.T, b *cpu.Backend) {
		list, err := b.CompileAll(t.Context(), graphs...)
		if err != nil {
			t.Fatal(err)
		}
		for i, exe := range list {
			for _, k := range exe.Kernels() {
				if want := graphs[i].Nodes[0].Op.Name + ", C for " + b.Target.Name; k.Kernel != want {
					t.Errorf("%s runs as %q: %s", k.Value, k.Kernel, k.Reason)
				}
			}
			want := run(t, compile(t, interp.New(), graphs[i]), []*tensor.Tensor{x, y})[0].Float32()
			got := run(t, exe, []*tensor.Tensor{x, y})[0].Float32()
			for j := range want {
				if math.Float32bits(got[j]) != math.Float32bits(want[j]) && (got[j] == got[j] || want[j] == want[j]) {
					t.Errorf("%v: at %g, %g it is %x, the interpreter has %x", graphs[i].Nodes[0].Op.Name, x.Elem(j), y.Elem(j), got[j], want[j])
					break
				}
			}
		}
	})
}
