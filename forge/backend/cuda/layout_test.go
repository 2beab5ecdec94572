package cuda

import (
	"context"
	"fmt"
	"testing"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/plan"
)

// cached is a program with every kind of buffer: a cache that it updates, an input that
// it reads, a constant, results and what is between.
const cached = `graph cached(%cache: f32[1,1,8,4], %new: f32[1,1,1,4], %pos: i64[1], %x: f32[2,2]) {
  %c: f32[1,1,8,4] = kv_append %cache, %new, %pos
  %w: f32[2,2] = const {value = f32[2,2] 1.0 2.0 3.0 4.0}
  %h: f32[2,2] = matmul %x, %w
  %e: f32[2,2] = exp %h
  %y: f32[2,2] = tanh %e
  return %y, %c
}`

func cachedProgram(t *testing.T) *program {
	t.Helper()
	g, err := ir.Parse(op.Registry, cached)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProgram(newUnit(targetFor(t, "sm_90")), g, DefaultMaxBytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLayOut checks for every choice of what is held that no two buffers of a frame
// overlap, and that exactly what crosses the bus is in what is copied.
func TestLayOut(t *testing.T) {
	p := cachedProgram(t)
	for mask := range 1 << 6 {
		b := p.unbound()
		for i := range 6 {
			if mask>>i&1 == 0 {
				continue
			}
			if h := new(Held); i < 4 {
				b.inputs[i] = h
			} else {
				b.outputs[i-4] = h
			}
		}
		t.Run(fmt.Sprintf("%06b", mask), func(t *testing.T) { checkLayout(t, p, b) })
	}
}

// TestDirect pins what kernels write to the host: few results, and no caches that copies
// bring.
func TestDirect(t *testing.T) {
	p := cachedProgram(t)
	held := func(inputs, outputs []int) binding {
		b := p.unbound()
		for _, i := range inputs {
			b.inputs[i] = new(Held)
		}
		for _, i := range outputs {
			b.outputs[i] = new(Held)
		}
		return b
	}
	for _, c := range []struct {
		b    binding
		want bool
	}{
		{held(nil, nil), false},
		{held([]int{0}, nil), false},
		{held([]int{0}, []int{1}), true},
		{held(nil, []int{1}), true},
		{held([]int{0}, []int{0, 1}), true}, // nothing
	} {
		if got := p.layOut(c.b).direct; got != c.want {
			t.Errorf("%v: %v", c.b, got)
		}
	}
	call := p.steps[len(p.steps)-1]
	for i := range p.steps {
		p.steps[i].call = func(context.Context, *driver.Stream, []uint64) error { return nil }
	}
	if p.layOut(held([]int{0}, []int{1})).direct {
		t.Errorf("a library that writes %v writes to the host", call.args)
	}
}

func checkLayout(t *testing.T, p *program, b binding) {
	l := p.layOut(b)
	within := func(i int, from, to int64) bool { return l.at[i] >= from && l.at[i]+p.size(&p.Buffers[i]) <= to }
	owner := make(map[int64]int)
	for i := range p.Buffers {
		buf := &p.Buffers[i]
		if l.at[i] < 0 {
			if b.comes(buf) || b.goes(buf) || buf.Constant == nil && b.holder(buf) == nil {
				t.Errorf("buffer %d %+v has no place", i, *buf)
			}
			continue
		}
		if b.comes(buf) != within(i, 0, l.in) || b.goes(buf) != within(i, l.out, l.end) {
			t.Errorf("buffer %d stands at %d of %+v", i, l.at[i], l)
		}
		for at := l.at[i]; at < l.at[i]+p.size(buf); at += plan.Align {
			if other, taken := owner[at]; taken {
				t.Errorf("buffers %d and %d overlap", i, other)
			}
			owner[at] = i
		}
		if !within(i, 0, l.scratch) {
			t.Errorf("buffer %d is beyond its memory", i)
		}
	}
}
