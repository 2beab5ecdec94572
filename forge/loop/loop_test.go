package loop_test

import (
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// lower lowers the last node of a graph whose values are dense, but that inputs
// named t lie transposed.
func lower(t *testing.T, src string) (string, error) {
	t.Helper()
	g, err := ir.Parse(op.Registry, src)
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := loop.Lower(g.Nodes[len(g.Nodes)-1], func(v *ir.Value) []int {
		if v.Name == "t" {
			return []int{1, v.Spec.Shape[0]}
		}
		return tensor.Strides(v.Spec.Shape)
	})
	var text strings.Builder
	for _, k := range kernels {
		text.WriteString(k.String())
	}
	return text.String(), err
}

func TestLower(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`graph f(%x: f32[4,6], %b: f32[6]) {
 %y: f32[4,6] = fused %x, %b (%u: f32[], %v: f32[]) {
   %s: f32[] = add %u, %v
   %r: f32[] = mul %s, %s
   return %r
 }
 return %y
}`, `kernel fused(%y: out f32, %x: f32, %b: f32)
nest [4] x [6]
  each mul(add(load %x[6,1], load %b[0,1]), add(load %x[6,1], load %b[0,1])) -> %y[6,1]
`},
		{"graph f(%x: f32[2,3,4]) {\n %y: f32[2,3,4] = exp %x\n return %y\n}", `kernel exp(%y: out f32, %x: f32)
nest [] x [24]
  each exp(load %x[1]) -> %y[1]
`},
		{"graph f(%x: f32[2,3], %t: f32[2,3]) {\n %y: f32[2,3] = add %x, %t\n return %y\n}", `kernel add(%y: out f32, %x: f32, %t: f32)
nest [2] x [3]
  each add(load %x[3,1], load %t[1,2]) -> %y[3,1]
`},
		{"graph f(%x: f32[4,10]) {\n %y: f32[4,10] = softmax %x\n return %y\n}", `kernel softmax(%y: out f32, %x: f32)
nest [4] x [10]
  s0 = max of load %x[10,1]
  s1 = sum of exp(sub(load %x[10,1], s0)) -> %y[10,1]
  each div(load %y[10,1], s1) -> %y[10,1]
`},
		{"graph f(%x: f32[4,5,6]) {\n %y: f32[5] = mean %x {axes = [0, 2]}\n return %y\n}", `kernel mean(%y: out f32, %x: f32)
nest [5] x [4,6]
  s0 = sum of load %x[6,30,1]
  once div(s0, 24) -> %y[1,0,0]
`},
		{"graph f(%x: f32[4,8], %w: f32[8]) {\n %y: f32[4,8] = rms_norm %x, %w {axis = 1}\n return %y\n}", `kernel rms_norm(%y: out f32, %x: f32, %w: f32)
nest [4] x [8]
  s0 = sum of mul(load %x[8,1], load %x[8,1])
  s1 = rsqrt(add(div(s0, 8), 1e-05))
  each mul(mul(load %x[8,1], s1), load %w[0,1]) -> %y[8,1]
`},
		{"graph f(%x: f32[2,3,4], %w: f32[4,5], %b: f32[5]) {\n %y: f32[2,3,5] = linear %x, %w, %b {act = \"relu\"}\n return %y\n}", `kernel linear(%y: out f32, %x: f32, %w: f32, %b: f32)
contract [] x [6,5,4]
  acc = %b[0,1] + %x[4,1] * %w[5,1]
  relu(acc) -> %y[5,1]
`},
		{"graph f(%x: f32[7,3,4], %w: f32[4,5]) {\n %y: f32[7,3,5] = matmul %x, %w\n return %y\n}", `kernel matmul(%y: out f32, %x: f32, %w: f32)
contract [] x [21,5,4]
  acc = %x[4,1] * %w[5,1]
  acc -> %y[5,1]
`},
		{"graph f(%x: f32[2,7,3,4], %w: f32[7,4,5]) {\n %y: f32[2,7,3,5] = matmul %x, %w\n return %y\n}", `kernel matmul(%y: out f32, %x: f32, %w: f32)
contract [2,7] x [3,5,4]
  acc = %x[84,12,4,1] * %w[0,20,5,1]
  acc -> %y[105,15,5,1]
`},
		{"graph f(%x: f32[6,4], %w: f32[4,5], %b: f32[5], %r: f32[6,5]) {\n %y: f32[6,5] = linear %x, %w, %b, %r {act = \"relu\"}\n return %y\n}", `kernel linear(%y: out f32, %x: f32, %w: f32, %b: f32, %r: f32)
contract [] x [6,5,4]
  acc = %b[0,1] + %x[4,1] * %w[5,1]
  add(relu(acc), load %r[5,1]) -> %y[5,1]
`},
		{"graph f(%x: f32[2,4,5,7], %w: f32[6,2,3,3]) {\n %y: f32[2,6,3,7] = conv2d %x, %w {groups = 2, stride = [2, 1], padding = [1, 1], act = \"relu\"}\n return %y\n}", `kernel conv2d(%y: out f32, %x: f32, %w: f32)
convolve [2,2] x [3,2] over [3,7], 3 taps 1 apart in steps of 2 from -1, 3 taps 1 apart in steps of 1 from -1
  acc = %x[140,35,7,1] * %w[18,9,3,1]
  relu(acc) -> %y[126,21,7,1]
`},
		{"graph f(%q: f32[1,4,6,8], %k: f32[1,2,9,8], %v: f32[1,2,9,3]) {\n %y: f32[1,4,6,3] = sdpa %q, %k, %v {causal = true, scale = 0.5}\n return %y\n}", `kernel sdpa(%y: out f32, %q: f32, %k: f32, %v: f32)
attend [1,4/2] x [6,9] of 8 and 3 channels, causal
  softmax(0.5 * %q[192,48,8,1] * %k[144,72,8,1]) * %v[54,27,3,1] -> %y[72,18,3,1]
`},
	} {
		k, err := lower(t, c.src)
		if err != nil {
			t.Errorf("%v in\n%s", err, c.src)
			continue
		}
		if k != c.want {
			t.Errorf("got\n%swant\n%s", k, c.want)
		}
	}
}

func TestNotLowered(t *testing.T) {
	for src, want := range map[string]string{
		"graph f(%x: f64[4]) {\n %y: f64[4] = exp %x\n return %y\n}":                                           "exp of f64 has no scalar form: its elementary function exists in f32 only",
		"graph f(%x: f64[4]) {\n %y: f64[] = sum %x\n return %y\n}":                                            "sum in f64 is the reference itself",
		"graph f(%x: f64[2,3], %w: f64[3,4]) {\n %y: f64[2,4] = linear %x, %w {act = \"gelu\"}\n return %y\n}": "gelu of f64 has no scalar form",
	} {
		if _, err := lower(t, src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func TestCopy(t *testing.T) {
	v := &ir.Value{Name: "x", Spec: ir.Spec{DType: tensor.F16, Shape: []int{2, 3, 4}}}
	const want = `kernel copy(%x: out f16, %x: f16)
nest [2] x [12]
  each bits %x[1,2] -> %x[12,1]
`
	if got := loop.Copy(v, []int{1, 8, 2}).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
