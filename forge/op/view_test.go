package op

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// TestLayouts follows chains of random views twice: by evaluation, which
// copies, and by composing layouts, which must find the same elements in the
// storage of the first operand.
func TestLayouts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	strided, copied := 0, 0
	for range 2000 {
		shape := [][]int{{6, 4}, {2, 3, 4}, {1, 5, 1}, {8}, {}, {0, 3}, {2, 2, 2, 2}}[rng.IntN(7)]
		storage, err := tensor.Zeros(tensor.I64, shape...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range storage.Int64() {
			storage.Int64()[i] = int64(i)
		}
		b := ir.NewBuilder(Registry, "views")
		v, err := b.Input("x", ir.SpecOf(storage))
		if err != nil {
			t.Fatal(err)
		}
		value, layout, chain := storage, ir.Dense(shape), ""
		for range 1 + rng.IntN(5) {
			name, attrs := randomView(rng, v.Spec.Shape)
			results, err := b.ApplyN(name, attrs, v)
			if err != nil {
				t.Fatalf("%s %v of %v: %v", name, attrs, v.Spec, err)
			}
			k := rng.IntN(len(results))
			chain += fmt.Sprintf("%s %v, result %d; ", name, attrs, k)
			outs := evalNode(t, results[0].Def, value)
			layouts, ok := results[0].Def.Layouts(layout)
			v, value = results[k], outs[k]
			if !ok { // the copy is dense
				copied++
				storage, layout = value, ir.Dense(v.Spec.Shape)
				continue
			}
			strided++
			layout = layouts[k]
			checkLayout(t, chain, storage, layout, value)
		}
	}
	if strided < 1000 || copied < 50 {
		t.Errorf("only %d views and %d copies were tried", strided, copied)
	}
}

func checkLayout(t *testing.T, chain string, storage *tensor.Tensor, l ir.Layout, want *tensor.Tensor) {
	t.Helper()
	w := stridedWalker(want.Shape(), l.Strides)
	for i := range want.Len() {
		base, within := w.locate(i)
		at := l.Offset + base + within*w.strides[len(w.strides)-1]
		if got := storage.Int64()[at]; got != want.Int64()[i] {
			t.Fatalf("%s: layout %+v finds %d for element %d, which is %d", chain, l, got, i, want.Int64()[i])
		}
	}
	if l.Contiguous(want.Shape()) && want.Len() > 0 {
		window, err := storage.Window(l.Offset, want.Shape()...)
		if err != nil {
			t.Fatalf("%s: %v", chain, err)
		}
		if !tensor.Identical(window, want) {
			t.Fatalf("%s: layout %+v is called contiguous, but %v is not %v", chain, l, window, want)
		}
	}
}

func randomView(rng *rand.Rand, shape []int) (string, ir.Attrs) {
	rank := len(shape)
	switch rng.IntN(5) {
	case 0:
		return "transpose", ir.Attrs{"perm": rng.Perm(rank)}
	case 1:
		if rank > 0 {
			axis := rng.IntN(rank)
			d := shape[axis]
			a := rng.IntN(d + 1)
			return "split", ir.Attrs{"axis": axis, "sizes": []int{a, d - a}}
		}
	case 2:
		if rank > 0 {
			axis := rng.IntN(rank)
			if d := shape[axis]; d > 1 {
				length := 1 + rng.IntN((d+1)/2)
				if rng.IntN(2) == 0 {
					return "narrow", ir.Attrs{"axis": axis, "start": d - 1, "length": length, "step": -2 + d%2}
				}
				return "narrow", ir.Attrs{"axis": axis, "start": rng.IntN(d - length + 1), "length": length}
			}
		}
	case 3:
		if rank < 5 {
			return "expand", ir.Attrs{"shape": append([]int{2}, shape...)}
		}
	}
	n := product(shape)
	if n == 0 {
		return "reshape", ir.Attrs{"shape": shape}
	}
	var to []int
	for n > 1 && len(to) < 5 {
		f := 1 + rng.IntN(n)
		if n%f == 0 {
			to, n = append(to, f), n/f
		}
	}
	return "reshape", ir.Attrs{"shape": append(to, n)}
}

// evalNode evaluates a node into fresh tensors.
func evalNode(t *testing.T, n *ir.Node, in ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	call := &ir.Call{Ctx: t.Context(), Node: n, In: in, Workers: 2}
	for _, v := range n.Out {
		out, err := tensor.Full(v.Spec.DType, 77, v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		call.Out = append(call.Out, out)
	}
	if err := n.Op.Eval(call); err != nil {
		t.Fatal(err)
	}
	return call.Out
}
