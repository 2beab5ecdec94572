package pass

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var (
	rowsRule    = Rule{"rows-of-product", true, "each row of a product with one matrix depends on one row of the other operand, wherever it stands among leading dimensions"}
	batchesRule = Rule{"batches-of-product", true, "each matrix of a batch of products depends on one matrix of each operand, wherever it stands among leading dimensions"}

	regroupRules = []*Rule{&rowsRule, &batchesRule}
)

// regroupProducts takes a product between two reshapes, of which the first joins leading
// dimensions and the second divides them again, out of the two. What calls products of rank
// 2 and 3 only writes them so.
func regroupProducts(g *ir.Graph, r *report) error {
	w := newRewriter(g, r)
	return w.sweep(func(n *ir.Node) error {
		if n.Op.Name != "reshape" {
			return nil
		}
		product := n.In[0].Def
		if product == nil || product.Op.Name != "matmul" && product.Op.Name != "linear" {
			return nil
		}
		if product.In[1].Spec.Rank() == 2 {
			return w.regroupRows(n, product)
		}
		return w.regroupBatches(n, product)
	})
}

// regroupRows lets a product with one matrix read what its operand is a reshape of.
func (w *rewriter) regroupRows(n, product *ir.Node) error {
	joined := made(product.In[0], "reshape")
	if joined == nil || joined.In[0].Spec.Rank() < 2 {
		return nil
	}
	x, channels := joined.In[0], product.In[1].Spec.Shape[0]
	switch last := x.Spec.Shape[x.Spec.Rank()-1]; {
	case last != channels:
		w.declined(&rowsRule, n.Out[0], fmt.Sprintf("%v has rows of %d, not of %d", x, last, channels), x)
		return nil
	case rowsOf(x.Spec) != rowsOf(joined.Out[0].Spec):
		w.declined(&rowsRule, n.Out[0], fmt.Sprintf("%v has %d empty rows, not %d", x, rowsOf(x.Spec), rowsOf(joined.Out[0].Spec)), x)
		return nil
	case residualOf(product) != nil:
		w.declined(&rowsRule, n.Out[0], "the product adds a residual, which would have to be reshaped too", residualOf(product))
		return nil
	}
	return w.regroup(&rowsRule, n, product, append([]*ir.Value{x}, product.In[1:]...))
}

// rowsOf is the number of rows of a tensor, which may be empty.
func rowsOf(s ir.Spec) int { return productOf(s.Shape[:s.Rank()-1]) }

func productOf(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// regroupBatches lets a batch of products read what its operands are reshapes of.
func (w *rewriter) regroupBatches(n, product *ir.Node) error {
	a, b := made(product.In[0], "reshape"), made(product.In[1], "reshape")
	if a == nil || b == nil {
		return nil
	}
	from := [][]int{a.In[0].Spec.Shape, b.In[0].Spec.Shape}
	to := [][]int{a.Out[0].Spec.Shape, b.Out[0].Spec.Shape}
	for i, shape := range from {
		if len(shape) < 3 || !slices.Equal(shape[len(shape)-2:], to[i][len(to[i])-2:]) {
			w.declined(&batchesRule, n.Out[0], fmt.Sprintf("%v does not keep the matrices of %v", product.In[i], product.In[i].Def.In[0]), product.In[i])
			return nil
		}
	}
	switch {
	case productOf(leading(from[0])) != productOf(leading(to[0])):
		w.declined(&batchesRule, n.Out[0], "the operands are empty, and have another number of matrices than before", a.In[0], b.In[0])
		return nil
	case !slices.Equal(leading(from[0]), leading(from[1])):
		w.declined(&batchesRule, n.Out[0], fmt.Sprintf("the leading dimensions of the operands were %s and %s", tensor.FormatShape(leading(from[0])), tensor.FormatShape(leading(from[1]))), a.In[0], b.In[0])
		return nil
	case !slices.Equal(leading(to[0]), leading(to[1])):
		w.declined(&batchesRule, n.Out[0], "the product repeats the matrices of one operand", product.In...)
		return nil
	case residualOf(product) != nil:
		w.declined(&batchesRule, n.Out[0], "the product adds a residual, which would have to be reshaped too", residualOf(product))
		return nil
	}
	return w.regroup(&batchesRule, n, product, []*ir.Value{a.In[0], b.In[0]})
}

// leading is a shape without the dimensions of its matrices.
func leading(shape []int) []int { return shape[:len(shape)-2] }

// regroup lets the reshape n of a product be the product of other operands, or a reshape of
// that.
func (w *rewriter) regroup(rule *Rule, n, product *ir.Node, operands []*ir.Value) error {
	reason, blockers := w.private(product.Out[0], n)
	if reason == "" {
		reason, blockers = w.later(operands...)
	}
	if reason != "" {
		w.declined(rule, n.Out[0], reason, blockers...)
		return nil
	}
	rows := operands[0].Spec.Shape
	shape := append(slices.Clone(rows[:len(rows)-1]), product.Out[0].Spec.Shape[product.Out[0].Spec.Rank()-1])
	if slices.Equal(shape, n.Out[0].Spec.Shape) {
		w.applied(rule, n.Out[0], fmt.Sprintf("it divides the dimensions again that %v joins", product.In[0]), product.In[0])
		return w.become(n, product.Op.Name, product.Attrs, operands...)
	}
	w.applied(rule, n.Out[0], fmt.Sprintf("the product reads what %v is a reshape of", product.In[0]), product.In[0])
	v, err := w.insert(n, product.Op.Name, product.Op.Name, product.Attrs, operands...)
	if err != nil {
		return err
	}
	v.Def.Pos = slices.Clone(product.Pos)
	return w.become(n, "reshape", ir.Attrs{"shape": n.Out[0].Spec.Shape}, v)
}
