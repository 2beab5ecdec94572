package ir_test

import (
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestDevices puts results where their operands are.
func TestDevices(t *testing.T) {
	b := ir.NewBuilder(op.Registry, "f")
	x := must(b.Input("x", ir.Spec{DType: tensor.F32, Shape: []int{2}, Device: "cuda:1"}))(t)
	y := must(b.Apply("exp", nil, x))(t)
	if y.Spec.String() != "f32[2] on cuda:1" {
		t.Errorf("the result is %v", y.Spec)
	}
	host := must(b.Scalar(tensor.F32, 1))(t)
	if _, err := b.Apply("add", nil, y, host); err == nil || !strings.Contains(err.Error(), "on different devices, cuda:1 and cpu") {
		t.Errorf("got error %v", err)
	}
	for name, ok := range map[string]bool{"cpu": true, "cuda": true, "cuda:12": true, "": true, "CUDA": false, "cuda:": false, "a b": false, "cuda:-1": false} {
		d, err := ir.ParseDevice(name)
		if (err == nil) != ok {
			t.Errorf("ParseDevice(%q): %v", name, err)
		}
		if again, err := ir.ParseDevice(d.String()); ok && (err != nil || again != d) {
			t.Errorf("%q reads back as %q, %v", d, again, err)
		}
	}
	if _, err := b.Input("z", ir.Spec{DType: tensor.F32, Device: "cpu"}); err == nil {
		t.Error("a second name of the host was accepted")
	}
}
