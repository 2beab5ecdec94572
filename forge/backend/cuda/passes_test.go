package cuda

import (
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// TestInPasses folds a long line by parts, and leaves short and odd ones whole.
func TestInPasses(t *testing.T) {
	at := targetFor(t, "sm_90")
	kernels := func(source string) []*loop.Kernel {
		g := parse(t, source)
		v := g.Outputs[0]
		list, err := loop.LowerWide(v.Def, strides)
		if err != nil {
			t.Fatal(err)
		}
		return at.inPasses(list)
	}
	var b strings.Builder
	for _, k := range kernels("graph f(%x: bf16[3,65536]) {\n %y: bf16[3] = mean %x {axes = [1]}\n return %y\n}") {
		b.WriteString(k.String())
	}
	const want = `kernel mean(%y: out bf16, %x: bf16, $parts: out f32)
nest [32,3] x [2048]
  s0 = sum of load %x[2048,65536,1]
  once s0 -> $parts[3,1,0]
kernel mean(%y: out bf16, %x: bf16, $parts: f32)
nest [3] x [32]
  s0 = sum of load $parts[1,3]
  once div(s0, 65536) -> %y[1,0]
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if n := len(kernels("graph f(%x: f32[4096,4096]) {\n %y: f32[4096] = max %x {axes = [0]}\n return %y\n}")); n != 2 {
		t.Errorf("%d kernels for columns", n)
	}
	for _, source := range []string{
		"graph f(%x: f32[3,1024]) {\n %y: f32[3] = sum %x {axes = [1]}\n return %y\n}",
		"graph f(%x: f32[3,65537]) {\n %y: f32[3] = sum %x {axes = [1]}\n return %y\n}",
		"graph f(%x: f32[1000,65536]) {\n %y: f32[1000] = sum %x {axes = [1]}\n return %y\n}",
		"graph f(%x: f32[65536]) {\n %y: f32[65536] = cumsum %x {axis = 0}\n return %y\n}",
	} {
		if n := len(kernels(source)); n != 1 {
			t.Errorf("%d kernels for\n%s", n, source)
		}
	}
}

func strides(v *ir.Value) []int { return tensor.Strides(v.Spec.Shape) }
