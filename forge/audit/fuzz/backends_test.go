package fuzz

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/audit/bound"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// TestNative checks random programs in machine code.
func TestNative(t *testing.T) {
	t.Parallel()
	count := 300
	if testing.Short() {
		count = 20
	}
	r, err := NewChecker(cpu.New()).Run(t.Context(), Options{Count: count, Seed: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	if r.Err() != nil {
		t.Error(r.Text())
	}
	if r.Programs != count || r.Stopped > count/20 {
		t.Errorf("of %d programs %s", count, r.Text())
	}
}

// otherSums is a backend that adds up in float64, as no sum in float32 in any
// order does better, and rounds once.
type otherSums struct {
	before func(n *ir.Node, in []*tensor.Tensor) // a defect in what it reads
	after  func(n *ir.Node, in, out []*tensor.Tensor)
	whole  func(out []*tensor.Tensor) // in what it returns of a program that keeps values to itself
}

func (otherSums) Name() string { return "other" }

func (b otherSums) Compile(_ context.Context, g *ir.Graph) (backend.Executable, error) {
	return &otherRun{b, g.Clone()}, nil
}

type otherRun struct {
	otherSums
	graph *ir.Graph
}

func (x *otherRun) Graph() *ir.Graph          { return x.graph }
func (x *otherRun) Kernels() []backend.Kernel { return nil }

func (x *otherRun) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	all := make(values)
	for i, v := range x.graph.Inputs {
		all[v.Name] = inputs[i]
	}
	for _, n := range x.graph.Nodes {
		in := make([]*tensor.Tensor, len(n.In))
		for i, t := range all.of(n.In) {
			in[i] = t.Clone()
		}
		out, err := x.node(ctx, n, in)
		if err != nil {
			return nil, err
		}
		for k, v := range n.Out {
			all[v.Name] = out[k]
		}
	}
	outs := all.of(x.graph.Outputs)
	if x.whole != nil && slices.ContainsFunc(x.graph.Nodes, func(n *ir.Node) bool {
		return n.Op.Class != ir.Constant && !x.graph.IsOutput(n.Out[0]) && !strings.HasPrefix(n.Out[0].Name, "copy")
	}) {
		x.whole(outs)
	}
	return outs, nil
}

func (x *otherRun) node(ctx context.Context, n *ir.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if x.before != nil {
		x.before(n, in)
	}
	var out []*tensor.Tensor
	var err error
	if bound.SameBits(n) {
		out, err = interp.Node(ctx, n, false, in...)
	} else if out, err = inFloat64(ctx, n, in); err == nil {
		for k, v := range n.Out {
			if out[k], err = out[k].Convert(v.Spec.DType); err != nil {
				return nil, err
			}
		}
	}
	if err == nil && x.after != nil {
		x.after(n, in, out)
	}
	return out, err
}

// Sums in another order are no findings.
func TestOtherSums(t *testing.T) {
	t.Parallel()
	r, err := NewChecker(otherSums{}).Run(t.Context(), Options{Count: 400, Seed: 1})
	if err != nil || r.Err() != nil {
		t.Errorf("%v\n%s", err, r.Text())
	}
}

func product(n *ir.Node) bool { return n.Op.Name == "linear" || n.Op.Name == "matmul" }

// wrongKernels are defects that a backend might have, the smallest that are
// wrong.
var wrongKernels = map[string]otherSums{
	"a product starts at the second row of the matrix": {before: func(n *ir.Node, in []*tensor.Tensor) {
		if product(n) && in[0].Dim(-1) > 1 {
			for i := 0; i < in[0].Len(); i += in[0].Dim(-1) {
				in[0].SetElem(i, 0)
			}
		}
	}},
	"a bias is dropped": {before: func(n *ir.Node, in []*tensor.Tensor) {
		if n.Op.Name == "linear" && len(in) == 3 {
			for i := range in[2].Len() {
				in[2].SetElem(i, 0)
			}
		}
	}},
	"the last column is missing": {after: func(n *ir.Node, _, out []*tensor.Tensor) {
		if columns := out[0].Rank(); product(n) && out[0].Dim(-1) > 1 && columns > 0 {
			for i := out[0].Dim(-1) - 1; i < out[0].Len(); i += out[0].Dim(-1) {
				out[0].SetElem(i, 0)
			}
		}
	}},
	"the cubic term of GELU behind a product is off by 1e-4": {after: func(n *ir.Node, in, out []*tensor.Tensor) {
		if product(n) && n.Str("act") == "gelu_tanh" {
			spoilGELU(n, in, out[0])
		}
	}},
	"a mean divides by one more": {after: func(n *ir.Node, in, out []*tensor.Tensor) {
		if n.Op.Name == "mean" && out[0].DType() == tensor.F32 && out[0].Len() > 0 {
			count := float64(in[0].Len() / out[0].Len())
			for i := range out[0].Len() {
				out[0].SetElem(i, out[0].Elem(i)*count/(count+1))
			}
		}
	}},
	"an attention leaves out the last key": {before: func(n *ir.Node, in []*tensor.Tensor) {
		if n.Op.Name == "sdpa" && in[2].Dim(2) > 1 {
			for i := range in[2].Len() {
				if i/in[2].Dim(3)%in[2].Dim(2) == in[2].Dim(2)-1 {
					in[2].SetElem(i, 0)
				}
			}
		}
	}},
	"a difference is rounded twice": {after: func(n *ir.Node, _, out []*tensor.Tensor) {
		if n.Op.Name == "sub" && out[0].DType() == tensor.F32 {
			for i := range out[0].Len() {
				out[0].SetElem(i, float64(math.Nextafter32(float32(out[0].Elem(i)), 0)))
			}
		}
	}},
}

// spoilGELU computes the activation again, with another constant.
func spoilGELU(n *ir.Node, in []*tensor.Tensor, out *tensor.Tensor) {
	attrs := n.Attrs.Clone()
	delete(attrs, "act")
	plain, err := ir.NewNode(n.Op, attrs, n.In...)
	if err != nil {
		panic(err) // it is a valid node without an attribute that has a default
	}
	sums, err := inFloat64(context.Background(), plain, in)
	if err != nil {
		panic(err)
	}
	for i := range out.Len() {
		x := sums[0].Elem(i)
		out.SetElem(i, 0.5*x*(1+math.Tanh(math.Sqrt(2/math.Pi)*(x+(0.044715+1e-4)*x*x*x))))
	}
}

func TestWrongKernels(t *testing.T) {
	for name, wrong := range wrongKernels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := find(t, NewChecker(wrong))
			if f.Stage != "backend other" || !strings.HasSuffix(f.Command, "--backend other") {
				t.Errorf("it is found in %s, and again by %s", f.Stage, f.Command)
			}
			if f.Nodes > 5 {
				t.Errorf("it is shrunk to %d nodes:\n%s", f.Nodes, f.Program)
			}
			t.Logf("seed %d, %d nodes -> %d: %s\n%s%s", f.Seed, f.Was, f.Nodes, f.Detail, f.Program, f.Inputs)
		})
	}
}

// A result that depends on where values stand is found although every kernel is
// right.
func TestWrongMemory(t *testing.T) {
	t.Parallel()
	f := find(t, NewChecker(otherSums{whole: func(out []*tensor.Tensor) {
		if last := out[len(out)-1]; last.Len() > 1 && last.DType() == tensor.F32 {
			last.SetElem(last.Len()-1, last.Elem(0)+1)
		}
	}}))
	if f.Stage != "backend other in planned memory" {
		t.Errorf("it is found in %s: %s", f.Stage, f.Detail)
	}
}
