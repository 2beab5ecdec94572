package loop

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// copyView copies the elements of a view that no strides over its operand can
// express, as a reshape of a transposed value: by way of the dimensions of the
// operand, in whose order the result is dense.
func (l *lowering) copyView() error {
	if l.node.Op.Name != "reshape" {
		return fmt.Errorf("only a reshape is copied, not %s", l.node.Op.Name)
	}
	shape := l.node.In[0].Spec.Shape
	out := l.outBits()
	out.Strides = tensor.Strides(shape)
	l.pointwise(shape, out, l.move(l.operand(0, shape)))
	return nil
}

// Copy is the kernel that makes a dense copy of a value with the given steps. Its
// parameters are the copy and the value.
func Copy(v *ir.Value, steps []int) *Kernel {
	l := &lowering{kernel: &Kernel{Op: "copy"}}
	out := &Access{Param: l.param(v, true), Strides: tensor.Strides(v.Spec.Shape), Bits: isHalf(v.Spec.DType)}
	x := l.move(&Access{Param: l.param(v, false), Strides: steps})
	l.pointwise(v.Spec.Shape, out, x)
	return l.kernel
}

// outBits is the access to the first result for what is moved to it.
func (l *lowering) outBits() *Access {
	out := l.out()
	out.Bits = isHalf(l.node.Out[0].Spec.DType)
	return out
}

// concat copies one operand after another to its window of the result.
func (l *lowering) concat() error {
	axis, offset := l.node.Int("axis"), 0
	for i, v := range l.node.In {
		shape := v.Spec.Shape
		if v.Spec.Elements() == 0 {
			offset += shape[axis]
			continue
		}
		if l.kernel.Nest != nil {
			l.begin()
		}
		out := l.outBits()
		out.Offset = offset * out.Strides[axis]
		offset += shape[axis]
		l.pointwise(shape, out, l.move(l.operand(i, shape)))
	}
	return nil
}

// pad reads the operand where it is, and the constant elsewhere.
func (l *lowering) pad() error {
	n := l.node
	x, shape := n.In[0].Spec, n.Out[0].Spec.Shape
	out := l.outBits()
	e := l.move(l.operand(0, x.Shape))
	for i, low := range n.Ints("low") {
		e.Access.Offset -= int(low) * e.Access.Strides[i]
		if shape[i] > x.Shape[i] {
			e.Access.Guards = append(e.Access.Guards, guard(i, len(shape), int(low), x.Shape[i]))
		}
	}
	value, err := tensor.Full(x.DType, n.Float("value"))
	if err != nil {
		return err
	}
	if elsewhere := constant(value); len(e.Access.Guards) > 0 {
		elsewhere.Type = x.DType
		e.Args = []*Expr{elsewhere}
	}
	l.pointwise(shape, out, e)
	return nil
}

// guard keeps dimension dim of count, which begins low places before an operand, in
// the size of the operand.
func guard(dim, count, low, size int) Guard {
	return Guard{Affine: Affine{Offset: -low, Strides: index(dim, count).Affine.Strides}, Size: size}
}
