package triton

import (
	"fmt"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

func TestDump(t *testing.T) {
	g, err := ir.Parse(op.Registry, `graph forms(%x: f32[64,100], %w: f32[100,20], %b: f32[20]) {
  %0: f32[64,100] = softmax %x {axis = 1}
  %1: f32[64,20] = linear %0, %w, %b {act = "gelu_tanh"}
  %2: f32[64,20] = tanh %1
  return %2
}`)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Source(g)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(m)
}
