package cpu_test

import (
	"fmt"
	"strings"
	"testing"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// attentionShape is the dimensions of an attention: batches, query and key heads,
// queries, keys, channels of queries and keys, and of values.
type attentionShape struct{ b, h, g, q, keys, d, e int }

// sdpa is a program with an optional mask, whose type and shape are as in
// "bool[3,4]", and attributes.
func (s attentionShape) sdpa(t testing.TB, mask, attrs string) *ir.Graph {
	t.Helper()
	params, args := "", ""
	if mask != "" {
		params, args = ", %m: "+mask, ", %m"
	}
	src := fmt.Sprintf("graph f(%%q: f32[%d,%d,%d,%d], %%k: f32[%d,%d,%d,%d], %%v: f32[%d,%d,%d,%d]%s) {\n %%y: f32[%d,%d,%d,%d] = sdpa %%q, %%k, %%v%s%s\n return %%y\n}",
		s.b, s.h, s.q, s.d, s.b, s.g, s.keys, s.d, s.b, s.g, s.keys, s.e, params, s.b, s.h, s.q, s.e, args, attrs)
	return parse(t, src)
}

func parse(t testing.TB, src string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, src)
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	return g
}

// shapes are those at the borders of blocks and vectors, for all targets.
var attentionShapes = []attentionShape{
	{1, 1, 1, 1, 1, 1, 1}, {2, 4, 2, 1, 33, 16, 16}, {1, 8, 1, 1, 200, 64, 64}, {1, 6, 2, 2, 129, 20, 13}, {1, 3, 3, 1, 65, 7, 40},
	{2, 2, 1, 9, 130, 5, 7}, {1, 2, 2, 16, 16, 16, 16}, {1, 4, 2, 33, 128, 24, 20}, {1, 2, 1, 70, 150, 8, 80}, {1, 1, 1, 129, 300, 33, 17},
	{1, 2, 1, 24, 0, 4, 4}, {1, 2, 1, 1, 0, 4, 4},
}

func TestAttention(t *testing.T) {
	var graphs []*ir.Graph
	for _, s := range attentionShapes {
		for _, attrs := range []string{"", " {causal = true}", " {strict = true}", " {causal = true, strict = true, scale = 0.3}"} {
			graphs = append(graphs, s.sdpa(t, "", attrs))
		}
		for _, attrs := range []string{"", " {strict = true}"} {
			for _, mask := range []string{
				fmt.Sprintf("[%d,%d,%d,%d]", s.b, s.h, s.q, s.keys), fmt.Sprintf("[%d,%d]", s.q, s.keys), fmt.Sprintf("[%d,1,1,%d]", s.b, s.keys), fmt.Sprintf("[%d,%d,1]", s.h, s.q), "[]",
			} {
				graphs = append(graphs, s.sdpa(t, "f32"+mask, attrs), s.sdpa(t, "bool"+mask, attrs))
			}
		}
	}
	onTargets(t, func(t *testing.T, b *cpu.Backend) {
		list, err := b.CompileAll(t.Context(), graphs...)
		if err != nil {
			t.Fatal(err)
		}
		for i, exe := range list {
			if k := exe.Kernels()[0]; !strings.HasPrefix(k.Kernel, "sdpa, C for ") {
				t.Errorf("%s runs as %q: %s", graphs[i], k.Kernel, k.Reason)
			}
			in := attentionInputs(t, graphs[i])
			want := run(t, compile(t, interp.Reference(), graphs[i]), in)
			slow := worst(run(t, compile(t, interp.New(), graphs[i]), in), want)
			if got := worst(run(t, exe, in), want); !(got <= 4*slow+1e-6) {
				t.Errorf("it errs by %.3g, the interpreter by %.3g: %s\n%s", got, slow, exe.Kernels()[0].Reason, graphs[i])
			}
		}
	})
}

func attentionInputs(t testing.TB, g *ir.Graph) []*tensor.Tensor {
	t.Helper()
	var in []*tensor.Tensor
	for i, v := range g.Inputs {
		x, err := tensor.Rand(uint64(i), v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		if v.Spec.DType == tensor.Bool {
			z, err := tensor.Zeros(tensor.Bool, v.Spec.Shape...)
			if err != nil {
				t.Fatal(err)
			}
			for k, u := range x.Float32() {
				z.Bool()[k] = u > -0.5
			}
			x = z
		}
		in = append(in, x)
	}
	return in
}
