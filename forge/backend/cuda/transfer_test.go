package cuda

import (
	"fmt"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestTransfers compiles programs of several ranks, and sees what they are made of.
func TestTransfers(t *testing.T) {
	for _, c := range []struct {
		node, result string
		kernel       string
		reason       string
		calls, texts int
		scratch      int64
	}{
		{"all_reduce %x {size = 2}", "f32[2,4]", "all_reduce, NCCL", "between 2 ranks of group world", 1, 0, 0},
		{"all_reduce %x {size = 3, group = \"tp\"}", "f32[2,4]", "all_reduce, NCCL", "between 3 ranks of group tp; gathered, and folded in the order of the ranks", 1, 1, 256},
		{"all_reduce %x {size = 2, reduce = \"max\"}", "f32[2,4]", "all_reduce, NCCL", "folded in the order", 1, 1, 256},
		{"all_reduce %x {size = 1}", "f32[2,4]", "all_reduce, NCCL", "between 1 ranks", 0, 1, 0},
		{"reduce_scatter %x {size = 2}", "f32[1,4]", "reduce_scatter, NCCL", "between 2 ranks", 1, 0, 0},
		{"reduce_scatter %x {size = 2, axis = 1}", "f32[2,2]", "reduce_scatter, NCCL", "between 2 ranks", 1, 1, 256},
		{"reduce_scatter %x {size = 2, reduce = \"max\"}", "f32[1,4]", "reduce_scatter, NCCL", "folded", 2, 1, 512},
		{"all_gather %x {size = 2}", "f32[4,4]", "all_gather, NCCL", "between 2 ranks", 1, 0, 0},
		{"all_gather %x {size = 2, axis = 1}", "f32[2,8]", "all_gather, NCCL", "between 2 ranks", 1, 1, 256},
		{"broadcast %x {size = 2, root = 1}", "f32[2,4]", "broadcast, NCCL", "between 2 ranks", 1, 0, 0},
		{"send %x {size = 2, peer = 1}", "i64[]", "send, NCCL", "between 2 ranks", 1, 1, 0},
		{"recv {size = 2, peer = 1, shape = [3]}", "f32[3]", "recv, NCCL", "between 2 ranks", 1, 0, 0},
	} {
		t.Run(c.node, func(t *testing.T) {
			g, err := ir.Parse(op.Registry, "graph rank(%x: f32[2,4]) {\n%y: "+c.result+" = "+c.node+"\nreturn %y\n}")
			if err != nil {
				t.Fatal(err)
			}
			p, err := newProgram(newUnit(architectures[0]), g, DefaultMaxBytes, nil)
			if err != nil {
				t.Fatal(err)
			}
			calls, texts := 0, 0
			for _, s := range p.steps {
				if s.call != nil {
					calls++
				} else {
					texts++
				}
			}
			if calls != c.calls || texts != c.texts || p.scratch != c.scratch {
				t.Errorf("%d calls, %d kernels and %d bytes of scratch; want %d, %d and %d", calls, texts, p.scratch, c.calls, c.texts, c.scratch)
			}
			if k := p.kernels[len(p.kernels)-1]; k.Kernel != c.kernel || !strings.Contains(k.Reason, c.reason) {
				t.Errorf("kernel %q, %q", k.Kernel, k.Reason)
			}
			compiles(t, p)
		})
	}
}

// TestTransferOfView sees that a value whose elements do not follow one another is
// copied before it is sent.
func TestTransferOfView(t *testing.T) {
	g, err := ir.Parse(op.Registry, "graph rank(%x: f32[2,4]) {\n%v: f32[4,2] = transpose %x {perm = [1, 0]}\n%y: f32[4,2] = all_reduce %v {size = 2}\nreturn %y\n}")
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProgram(newUnit(architectures[0]), g, DefaultMaxBytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.steps) != 2 || p.steps[0].call != nil || p.steps[1].call == nil || p.steps[1].args[1] != p.steps[0].args[0] || p.steps[1].args[1].Buffer != inScratch {
		t.Errorf("steps %+v", p.steps)
	}
}

// TestFolds compiles the kernels that combine what ranks have gathered.
func TestFolds(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
		for _, how := range []string{"sum", "max"} {
			g, err := ir.Parse(op.Registry, fmt.Sprintf("graph rank(%%x: %v[5]) {\n%%y: %v[5] = all_reduce %%x {size = 3, reduce = %q}\nreturn %%y\n}", d, d, how))
			if err != nil {
				t.Fatal(err)
			}
			p, err := newProgram(newUnit(architectures[0]), g, DefaultMaxBytes, nil)
			if err != nil {
				t.Fatal(err)
			}
			compiles(t, p)
		}
	}
}

// compiles sees that the kernels of a program are CUDA C, where there is a compiler.
func compiles(t *testing.T, p *program) {
	t.Helper()
	if _, err := compiler(t).Compile(p.unit.source()); err != nil {
		t.Error(err)
	}
}
