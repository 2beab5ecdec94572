package pass

import (
	"fmt"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// benchGraphs are families of graphs that grow to any number of nodes.
var benchGraphs = map[string]func(s *benchSteps, nodes int) *ir.Value{
	// Half of the nodes fuse, and one value is read by all kernels.
	"shared": func(s *benchSteps, nodes int) *ir.Value {
		x := s.input("x", 4, 4)
		shared, v := s.op("exp", nil, x), x
		for range nodes / 4 {
			for _, name := range []string{"matmul", "add", "sub", "mul"} {
				v = s.op(name, nil, v, shared)
			}
		}
		return v
	},
	// One kernel of all nodes, each on a line of its own.
	"chain": func(s *benchSteps, nodes int) *ir.Value {
		v := s.input("x", 4, 4)
		for i := range nodes {
			s.b.At(ir.Pos{Source: "chain.fs", Line: i + 2, Col: 1})
			v = s.op([]string{"exp", "tanh", "neg"}[i%3], nil, v)
		}
		return v
	},
	// Layers of a norm, an activated product and a residual sum.
	"layers": func(s *benchSteps, nodes int) *ir.Value {
		v, w, bias, eps := s.input("x", 4, 4), s.input("w", 4, 4), s.input("b", 4), s.input("eps")
		for range nodes / 12 {
			last := ir.Attrs{"axes": []int{-1}, "keepdims": true}
			d := s.op("sub", nil, v, s.op("mean", last, v))
			ms := s.op("mean", last, s.op("mul", nil, d, d))
			y := s.op("mul", nil, d, s.op("rsqrt", nil, s.op("add", nil, ms, eps)))
			y = s.op("gelu", nil, s.op("add", nil, s.op("matmul", nil, y, w), bias))
			y = s.op("transpose", nil, s.op("tanh", nil, s.op("transpose", nil, y)))
			v = s.op("add", nil, v, y)
		}
		return v
	},
	// Every value is read by the next two, so that trees of it grow
	// exponentially.
	"fibonacci": func(s *benchSteps, nodes int) *ir.Value {
		previous := s.input("x", 4, 4)
		current := previous
		for range nodes {
			previous, current = current, s.op("add", nil, previous, current)
		}
		return current
	},
	// One value that every node reads, and a sum of all.
	"fan": func(s *benchSteps, nodes int) *ir.Value {
		x := s.input("x", 4, 4)
		sum := x
		for range nodes / 2 {
			sum = s.op("add", nil, sum, s.op("matmul", nil, x, sum))
		}
		return sum
	},
}

type benchSteps struct {
	tb testing.TB
	b  *ir.Builder
}

func (s *benchSteps) input(name string, shape ...int) *ir.Value {
	v, err := s.b.Input(name, ir.F32(shape...))
	if err != nil {
		s.tb.Fatal(err)
	}
	return v
}

func (s *benchSteps) op(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	v, err := s.b.Apply(name, attrs, in...)
	if err != nil {
		s.tb.Fatal(err)
	}
	return v
}

// BenchmarkRun shows how the pipeline grows with the graph.
func BenchmarkRun(b *testing.B) {
	for name, family := range benchGraphs {
		for _, nodes := range []int{40, 500, 2000, 8000} {
			b.Run(fmt.Sprintf("%s/%d", name, nodes), func(b *testing.B) {
				s := &benchSteps{b, ir.NewBuilder(op.Registry, "big")}
				g, err := s.b.Finish(family(s, nodes))
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := Run(g, Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
