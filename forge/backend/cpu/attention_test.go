package cpu_test

import (
	"fmt"
	"strings"
	"testing"

	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/cpu"
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

// attentions are the operators whose kernels differ from target to target.
var attentions = []string{"sdpa", "cached_attention", "paged_attention"}

// TestAttention runs the suite's cases also for the vectors that are not the widest,
// and demands that they are native but for f64.
func TestAttention(t *testing.T) {
	onTargets(t, func(t *testing.T, b *cpu.Backend) {
		if testing.Short() && b.Target.Name == cpu.New().Target.Name {
			t.Skip("TestConformance has them")
		}
		a := compileAhead(t, b, attentions...)
		for _, exe := range a.ready {
			n := exe.Graph().Nodes[0]
			for _, k := range exe.Kernels() {
				if k.Kernel != "" && n.Out[0].Spec.DType != tensor.F64 && !strings.HasSuffix(k.Kernel, ", C for "+b.Target.Name) {
					t.Errorf("%v runs as %q: %s", n, k.Kernel, k.Reason)
				}
			}
		}
		for _, name := range attentions {
			o, err := op.Registry.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(name, func(t *testing.T) { conformance.RunOperator(t, a, o) })
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
