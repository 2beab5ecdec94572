package planned_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// rows is a program that multiplies so many rows by a constant.
func rows(t *testing.T, m int, w *tensor.Tensor) *ir.Graph {
	t.Helper()
	b := ir.NewBuilder(op.Registry, "rows")
	x, err := b.Input("x", ir.F32(m, w.Dim(0)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.SharedConst(w)
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.Apply("linear", nil, x, c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Finish(y)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// packedProgram is the program with its matrix packed.
func packedProgram(t *testing.T, g *ir.Graph, panels planned.Panels) *planned.Program {
	t.Helper()
	p, err := planned.New(g, 1<<20)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, n := range p.Graph.Nodes {
		if n.Op.Class == ir.Constant {
			continue
		}
		kernels, err := p.Lower(n)
		if err != nil {
			t.Error(err)
			return nil
		}
		if _, ok := p.PackMatrix(kernels[0], panels); !ok {
			t.Error("a constant matrix is not packed")
		}
	}
	return p
}

// settled collects garbage until the packs are as many, and returns the last count.
func settled(t *testing.T, forms int) (int, int64) {
	t.Helper()
	for range 500 {
		runtime.GC()
		if n, bytes := planned.Packed(); n == forms {
			return n, bytes
		}
		time.Sleep(time.Millisecond) // in which what is left of the packs is cleaned up
	}
	return planned.Packed()
}

// TestPacksAreShared compiles programs of several rows over one weight at once, from
// several goroutines: they hold one packed form, which goes with the last of them.
func TestPacksAreShared(t *testing.T) {
	before, bytesBefore := settled(t, 0)
	w, err := tensor.Rand(1, 7, 5)
	if err != nil {
		t.Fatal(err)
	}
	panels := planned.Panels{Widths: []int{4, 4}, Gap: 2, Elem: tensor.F32}
	graphs := make([]*ir.Graph, 8)
	for i := range graphs {
		graphs[i] = rows(t, i+1, w)
	}
	programs := make([]*planned.Program, len(graphs))
	var all sync.WaitGroup
	for i, g := range graphs {
		all.Go(func() { programs[i] = packedProgram(t, g, panels) })
	}
	all.Wait()
	if n, bytes := planned.Packed(); n != before+1 || bytes != bytesBefore+4*(2*(7*4+2)) {
		t.Errorf("%d packs of %d bytes, want one more than %d and %d", n, bytes, before, bytesBefore)
	}
	other := packedProgram(t, graphs[0], planned.Panels{Widths: []int{8}, Elem: tensor.F32})
	if n, _ := planned.Packed(); n != before+2 {
		t.Errorf("%d packs, want another for other panels", n)
	}
	first := programs[0].NewFrame().Memory
	for _, p := range programs {
		if p != nil && !slices.EqualFunc(p.NewFrame().Memory[len(p.Buffers)-1:], first[len(first)-1:], func(a, b []byte) bool {
			return planned.Address(a) == planned.Address(b)
		}) {
			t.Error("programs have packs of their own")
		}
	}
	runtime.KeepAlive(programs)
	runtime.KeepAlive(other)
	programs, other, first = nil, nil, nil
	if n, bytes := settled(t, before); n != before || bytes != bytesBefore {
		t.Errorf("%d packs of %d bytes are left, want %d of %d", n, bytes, before, bytesBefore)
	}
}

// TestPackWidens packs half precision as what it is and as f32.
func TestPackWidens(t *testing.T) {
	w, err := tensor.FromBits16(tensor.BF16, []int{2, 3}, []uint16{0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0})
	if err != nil {
		t.Fatal(err)
	}
	for elem, want := range map[tensor.DType][]byte{
		tensor.BF16: {0x80, 0x3f, 0, 0x40, 0x80, 0x40, 0xa0, 0x40, 0x40, 0x40, 0, 0, 0xc0, 0x40, 0, 0},
		tensor.F32: {
			0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x80, 0x40, 0, 0, 0xa0, 0x40,
			0, 0, 0x40, 0x40, 0, 0, 0, 0, 0, 0, 0xc0, 0x40, 0, 0, 0, 0,
		},
	} {
		p := packedProgram(t, rows(t, 1, w), planned.Panels{Widths: []int{2, 2}, Elem: elem})
		if got := p.NewFrame().Memory[len(p.Buffers)-1]; !slices.Equal(got, want) {
			t.Errorf("as %v: % x, want % x", elem, got, want)
		}
	}
}
