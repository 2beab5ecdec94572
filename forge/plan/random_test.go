package plan

import (
	"context"
	"reflect"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// evaluate computes a graph without a plan: every value has memory of its own.
func evaluate(t *testing.T, g *ir.Graph, inputs []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	values := make(map[*ir.Value]*tensor.Tensor)
	for i, v := range g.Inputs {
		values[v] = inputs[i]
	}
	for _, n := range g.Nodes {
		call := &ir.Call{Ctx: context.Background(), Node: n, Workers: 1}
		for _, v := range n.In {
			call.In = append(call.In, values[v])
		}
		for _, v := range n.Out {
			x, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
			if err != nil {
				t.Fatal(err)
			}
			call.Out = append(call.Out, x)
			values[v] = x
		}
		if err := n.Op.Eval(call); err != nil {
			t.Fatalf("%v = %s: %v", n.Out[0], n.Op.Name, err)
		}
	}
	var outs []*tensor.Tensor
	for _, v := range g.Outputs {
		outs = append(outs, values[v])
	}
	return outs
}

func smallIntegers(t *testing.T, g *ir.Graph) []*tensor.Tensor {
	t.Helper()
	var list []*tensor.Tensor
	for j, v := range g.Inputs {
		x, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Len() {
			x.SetElem(i, float64((3*i+j)%11-5))
		}
		list = append(list, x)
	}
	return list
}

func mustPlan(t *testing.T, g *ir.Graph, opts Options) *Plan {
	t.Helper()
	p, err := New(g, opts)
	if err != nil {
		t.Fatalf("%v\n%v", err, g.Listing())
	}
	if err := Verify(p); err != nil {
		t.Fatalf("%v\n%v\n%v", err, p.Graph.Listing(), p.Text())
	}
	return p
}

// Every plan of a random graph passes the checker, and a run in memory laid out
// as the plan says gives what separate memory gives.
func TestRandomPlans(t *testing.T) {
	count := uint64(2000)
	if testing.Short() {
		count = 300
	}
	for seed := range count {
		g := randomGraph(seed, 4+int(seed%40))
		inputs := smallIntegers(t, g)
		want := evaluate(t, g, inputs)
		for _, opts := range []Options{{}, {NoReuseInPlace: true}} {
			p := mustPlan(t, g, opts)
			got, err := Simulate(context.Background(), p, inputs...)
			if err != nil {
				t.Fatalf("seed %d: %v\n%v\n%v", seed, err, p.Graph.Listing(), p.Text())
			}
			for i := range want {
				if !tensor.Identical(got[i], want[i]) {
					t.Fatalf("seed %d, output %d (%v):\n%v\n%v", seed, i, g.Outputs[i], p.Graph.Listing(), p.Text())
				}
			}
		}
	}
}

// Planning twice, also from a copy of the graph, gives the same plan.
func TestDeterministic(t *testing.T) {
	for seed := range uint64(200) {
		g := randomGraph(seed, 30)
		p, q := mustPlan(t, g, Options{}), mustPlan(t, g.Clone(), Options{})
		if !reflect.DeepEqual(p.Values, q.Values) || !reflect.DeepEqual(p.Slots, q.Slots) || p.Graph.Listing() != q.Graph.Listing() {
			t.Fatalf("seed %d: two plans differ:\n%v\n%v", seed, p.Text(), q.Text())
		}
	}
}

// FuzzPlan looks for graphs whose plan the checker refuses.
func FuzzPlan(f *testing.F) {
	f.Add(uint64(1), uint8(20), false)
	f.Fuzz(func(t *testing.T, seed uint64, size uint8, plain bool) {
		mustPlan(t, randomGraph(seed, 1+int(size)), Options{NoReuseInPlace: plain})
	})
}
