package cpu_test

import (
	"strings"
	"testing"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// TestList sees that the text is what is compiled, and that a candidate is another
// schedule.
func TestList(t *testing.T) {
	g, err := ir.Parse(op.Registry, `graph f(%x: f32[64,100], %w: f32[100,70]) {
  %y: f32[64,70] = matmul %x, %w
  %z: f32[64,70] = cumsum %y {axis = 1}
  return %z
}`)
	if err != nil {
		t.Fatal(err)
	}
	b := cpu.New()
	l, err := b.List(g, -1)
	if err != nil {
		t.Fatal(err)
	}
	if l.Code != code(compile(t, b, g)) {
		t.Error("the listing is not what is compiled")
	}
	if len(l.Kernels) != 1 || len(l.Missing) != 1 || !strings.HasPrefix(l.Missing[0], "%z = cumsum, reference: ") {
		t.Errorf("kernels %v, missing %v", l.Kernels, l.Missing)
	}
	if l.Most < 4 {
		t.Fatalf("the product has %d candidates", l.Most)
	}
	other, err := b.List(g, l.Most-1)
	if err != nil {
		t.Fatal(err)
	}
	if other.Code == l.Code {
		t.Error("the last candidate is the first")
	}
}
