package planned_test

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/plan"
	"forgekernel/forge/tensor"
)

// layer is x @ w, where w is a constant of 3 rows and 5 columns that counts up,
// also read as its transpose.
func layer(t *testing.T) *ir.Graph {
	t.Helper()
	w, err := tensor.From([]int{3, 5}, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})
	if err != nil {
		t.Fatal(err)
	}
	b := ir.NewBuilder(op.Registry, "f")
	must := func(v *ir.Value, err error) *ir.Value {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	x, y := must(b.Input("x", ir.F32(2, 3))), must(b.Input("y", ir.F32(2, 5)))
	c := must(b.Const(w))
	turned := must(b.Apply("transpose", nil, c))
	g, err := b.Finish(must(b.Apply("matmul", nil, x, c)), must(b.Apply("matmul", nil, y, turned)))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestPackMatrix(t *testing.T) {
	p, err := planned.New(layer(t), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var packed [][]float32
	for _, n := range p.Graph.Nodes {
		if n.Op.Name != "matmul" {
			continue
		}
		list, err := p.Lower(n)
		if err != nil {
			t.Fatal(err)
		}
		k := list[0]
		at, ok := p.PackMatrix(k, planned.Panels{Widths: []int{4, 4}[:(k.Contraction.N+3)/4], Gap: 1, Elem: tensor.F32})
		if !ok {
			packed = append(packed, nil)
			continue
		}
		raw := p.NewFrame().Memory[at.Buffer]
		panels := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw)/4)
		if address := uintptr(unsafe.Pointer(unsafe.SliceData(panels))); address%plan.Align != 0 {
			t.Errorf("the panels begin at %#x", address)
		}
		packed = append(packed, panels)
	}
	want := [][]float32{
		{0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 0, 4, 0, 0, 0, 9, 0, 0, 0, 14, 0, 0, 0, 0},
		{0, 5, 10, 0, 1, 6, 11, 0, 2, 7, 12, 0, 3, 8, 13, 0, 4, 9, 14, 0, 0},
	}
	if !slices.EqualFunc(packed, want, slices.Equal) {
		t.Errorf("the panels are %v, want %v", packed, want)
	}
}

func TestLimit(t *testing.T) {
	g, err := ir.Parse(op.Registry, "graph f(%x: f32[65536,1], %y: f32[1,32768]) {\n %z: f32[65536,32768] = mul %x, %y\n %s: f32[] = sum %z\n return %s\n}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := planned.New(g, 4<<30); err == nil || !strings.Contains(err.Error(), "f needs 8192 MiB for its intermediate values; the limit is 4096 MiB") {
		t.Errorf("got error %v", err)
	}
}
