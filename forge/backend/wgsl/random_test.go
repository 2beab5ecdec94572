package wgsl_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"forgekernel/forge/audit/bound"
	"forgekernel/forge/audit/generate"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
	"forgekernel/forge/tensor"
)

// TestRandomPrograms runs programs of a generator in simulation, and compares each node
// with float64 on the operands that the simulation computed.
func TestRandomPrograms(t *testing.T) {
	programs := uint64(400)
	if testing.Short() {
		programs = 60
	}
	b := &wgsl.Backend{Device: wgsl.NewSimulator()}
	ran := 0
	for seed := range programs {
		c, err := generate.New(seed)
		if err != nil {
			t.Fatal(err)
		}
		r, err := pass.Run(c.Graph, pass.Options{})
		if err != nil {
			t.Fatal(err)
		}
		g := r.Graph
		if slices.ContainsFunc(g.Nodes, func(n *ir.Node) bool { return n.Op.Donates }) {
			continue // what is in the state that it takes over would be gone
		}
		g.Outputs = nil
		for _, n := range g.Nodes {
			if n.Op.Class != ir.Constant {
				g.Outputs = append(g.Outputs, n.Out...)
			}
		}
		if g.Outputs == nil {
			continue
		}
		exe, err := b.Compile(t.Context(), g)
		if un := (*wgsl.Unsupported)(nil); errors.As(err, &un) {
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, g)
		}
		got, err := exe.Run(t.Context(), c.Inputs...)
		if _, stops := run(t, interp.New(), g, c.Inputs); stops != nil {
			if err == nil || err.Error() != stops.Error() {
				t.Errorf("seed %d: the error is %v, want %v", seed, err, stops)
			}
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, g)
		}
		ran++
		known := make(map[*ir.Value]*tensor.Tensor)
		for i, v := range g.Inputs {
			known[v] = c.Inputs[i]
		}
		for i, v := range g.Outputs {
			known[v] = got[i]
		}
		for _, n := range g.Nodes {
			if n.Op.Class == ir.Constant {
				known[n.Out[0]] = n.Tensor("value")
				continue
			}
			if err := checkNode(t, n, known); err != nil {
				t.Fatalf("seed %d: %s: %v in\n%s", seed, n.Line(), err, g)
			}
		}
	}
	if ran < int(programs)/8 {
		t.Errorf("%d of %d programs ran", ran, programs)
	}
	t.Logf("%d of %d programs ran", ran, programs)
}

// checkNode compares the results of a node with float64 on its operands.
func checkNode(t *testing.T, n *ir.Node, known map[*ir.Value]*tensor.Tensor) error {
	t.Helper()
	var in, wide []*tensor.Tensor
	for _, v := range n.In {
		x := known[v]
		in = append(in, x)
		if x.DType().IsFloat() {
			var err error
			if x, err = x.Convert(tensor.F64); err != nil {
				return err
			}
		}
		wide = append(wide, x)
	}
	near, err := interp.Node(t.Context(), n, false, in...)
	if err != nil {
		return err
	}
	want, err := interp.Node(t.Context(), n, true, wide...)
	if err != nil {
		return err
	}
	for i, v := range n.Out {
		got := known[v]
		if tensor.Identical(got, near[i]) || n.Op.Class == ir.Fused && close(got, near[i]) {
			continue // steps of half precision are rounded, which float64 does not do
		}
		if err := bound.Check(v, in, got, want[i]); err != nil {
			return err
		}
	}
	return nil
}

// close reports whether two results differ by some units in the last place at most.
func close(x, y *tensor.Tensor) bool {
	for i := range x.Len() {
		a, b := x.Elem(i), y.Elem(i)
		same := a == b || a != a && b != b
		if !same && !(math.Abs(a-b) <= 32*tensor.ULP(x.DType(), b)) {
			return false
		}
	}
	return true
}
