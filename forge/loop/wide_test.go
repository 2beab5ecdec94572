package loop_test

import (
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestLowerWide has the forms that not every backend prints, which Lower refuses.
func TestLowerWide(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"graph f(%x: f32[3,5]) {\n %y: f32[3,5] = cumsum %x {axis = 1}\n return %y\n}", `kernel cumsum(%y: out f32, %x: f32)
nest [3] x [5]
  s0 = sum of all through load %x[5,1] -> %y[5,1]
`},
		{"graph f(%x: i64[3,5]) {\n %y: i64[3,5] = cumsum %x {axis = 0, exclusive = true, reverse = true}\n return %y\n}", `kernel cumsum(%y: out i64, %x: i64)
nest [5] x [3]
  s0 = sum of all before load %x[1,-5] +10 -> %y[1,-5] +10
`},
		{"graph f(%x: f32[3,5]) {\n %y: f32[3] = prod %x {axes = [1]}\n return %y\n}", `kernel prod(%y: out f32, %x: f32)
nest [3] x [5]
  s0 = prod of load %x[5,1]
  once s0 -> %y[1,0]
`},
		{"graph f(%x: f64[4]) {\n %y: f64[4] = exp %x\n return %y\n}", `kernel exp(%y: out f64, %x: f64)
nest [] x [4]
  each exp(load %x[1]) -> %y[1]
`},
		{"graph f(%x: i32[2,5]) {\n %y: i32[2,3], %i: i64[2,3] = top_k %x {k = 3}\n return %y, %i\n}", `kernel top_k(%y: out i32, %i: out i64, %x: i32)
nest [2,5] x [5]
  s0 = sum of cast_i64(or(gt(load %x[5,0,1], load %x[5,1,0]), and(eq(load %x[5,1,0], load %x[5,0,1]), lt(i2, i1))))
  when lt(s0, 3) once load %x[5,1,0] -> %y[3,0,0] at 1 * (s0) below 3
  when lt(s0, 3) once i1 -> %i[3,0,0] at 1 * (s0) below 3
`},
		{"graph f(%x: f32[5,2], %i: i64[3,2], %u: f32[3,2]) {\n %y: f32[5,2] = scatter %x, %i, %u {axis = 0, reduce = \"add\"}\n return %y\n}", `kernel scatter(%y: out f32, %x: f32)
nest [] x [10]
  each load %x[1] -> %y[1]
kernel scatter(%y: out f32, %i: i64, %u: f32)
nest [2] x [3]
  in order add(load %y[1,0] at 2 * (load %i[1,2]) below 5, load %u[1,2]) -> %y[1,0] at 2 * (load %i[1,2]) below 5
`},
		{"graph f(%x: bf16[5], %i: i32[3], %u: bf16[3]) {\n %y: bf16[5] = scatter %x, %i, %u {axis = 0, reduce = \"add\"}\n return %y\n}", `kernel scatter($sums: out f32, %x: bf16)
nest [] x [5]
  each load %x[1] -> $sums[1]
kernel scatter($sums: out f32, %i: i32, %u: bf16)
nest [] x [3]
  in order add(load $sums[0] at 1 * (cast_i64(load %i[1])) below 5, load %u[1]) -> $sums[0] at 1 * (cast_i64(load %i[1])) below 5
kernel scatter(%y: out bf16, $sums: f32)
nest [] x [5]
  each load $sums[1] -> %y[1]
`},
	} {
		g, err := ir.Parse(op.Registry, c.src)
		if err != nil {
			t.Fatal(err)
		}
		layout := func(v *ir.Value) []int { return tensor.Strides(v.Spec.Shape) }
		n := g.Nodes[len(g.Nodes)-1]
		if _, err := loop.Lower(n, layout); err == nil {
			t.Errorf("Lower takes %s", n.Op.Name)
		}
		kernels, err := loop.LowerWide(n, layout)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, k := range kernels {
			b.WriteString(k.String())
		}
		if b.String() != c.want {
			t.Errorf("got\n%s\nwant\n%s", b.String(), c.want)
		}
	}
}
