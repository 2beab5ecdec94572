package planned

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Evaluate runs a node by its operator's own evaluation, on the memory of operands
// and results where that is dense, else on copies. When ctx has ended the error is
// its cause.
func (p *Program) Evaluate(ctx context.Context, f *Frame, n *ir.Node) error {
	err := p.evaluate(ctx, f, n)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("%s: %v = %s: %w", p.Graph.Name, n.Out[0], n.Op.Name, err)
}

func (p *Program) evaluate(ctx context.Context, f *Frame, n *ir.Node) error {
	c := &f.call
	*c = ir.Call{Ctx: ctx, Node: n, Workers: p.Workers, In: c.In[:0], Out: c.Out[:0]}
	defer func() {
		clear(c.In)
		clear(c.Out)
		c.Ctx, c.Node = nil, nil
	}()
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	f.copied = f.copied[:0] // results that stand elsewhere until the end
	for _, v := range n.Out {
		t, err := p.where(f, v)
		f.copied = append(f.copied, t == nil)
		if t == nil && err == nil {
			t, err = tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		}
		if err != nil {
			return err
		}
		c.Out = append(c.Out, t)
	}
	for _, v := range n.In {
		t, err := p.operand(f, v, c.Out)
		if err != nil {
			return err
		}
		c.In = append(c.In, t)
	}
	if err := n.Op.Eval(c); err != nil {
		return err
	}
	for i, v := range n.Out {
		if at := p.Place(v); at.Buffer >= 0 && f.copied[i] {
			scatter(f.Memory[at.Buffer], Bytes(c.Out[i]), int(at.Offset), v.Spec.Shape, p.Strides(v), v.Spec.DType.Size())
		}
	}
	return nil
}

// operand is a value as a dense tensor: a constant, or an input that nothing
// overwrites, itself; else the memory where it stands, unless the kernel writes a
// result there; else a copy.
func (p *Program) operand(f *Frame, v *ir.Value, results []*tensor.Tensor) (*tensor.Tensor, error) {
	if e := p.entries[v]; e.Base == e.Name {
		if at := p.Place(v); at.Buffer >= 0 {
			switch b := &p.Buffers[at.Buffer]; {
			case b.Constant != nil:
				return b.Constant, nil
			case b.Input >= 0 && !b.Updated:
				return f.inputs[b.Input], nil
			}
		}
	}
	if t, err := p.where(f, v); err != nil || t != nil && !slices.ContainsFunc(results, func(r *tensor.Tensor) bool { return meet(r, t) }) {
		return t, err
	}
	return p.copyOf(f, v)
}

// copyOf gathers a value through its strides.
func (p *Program) copyOf(f *Frame, v *ir.Value) (*tensor.Tensor, error) {
	t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
	if err != nil || t.Len() == 0 {
		return t, err
	}
	at := p.Place(v)
	gather(Bytes(t), f.Memory[at.Buffer], int(at.Offset), v.Spec.Shape, p.Strides(v), v.Spec.DType.Size())
	return t, nil
}

// gather copies the elements that begin at byte from of src to dst, in row-major
// order, and returns what is left of dst.
func gather(dst, src []byte, from int, shape, strides []int, size int) []byte {
	if len(shape) == 0 {
		return dst[copy(dst[:size], src[from:from+size]):]
	}
	if len(shape) == 1 && strides[0] == 1 {
		n := shape[0] * size
		return dst[copy(dst[:n], src[from:from+n]):]
	}
	for i := range shape[0] {
		dst = gather(dst, src, from+i*strides[0]*size, shape[1:], strides[1:], size)
	}
	return dst
}

// scatter is the inverse of gather, and returns what is left of src.
func scatter(dst, src []byte, to int, shape, strides []int, size int) []byte {
	if len(shape) == 0 {
		return src[copy(dst[to:to+size], src):]
	}
	if len(shape) == 1 && strides[0] == 1 {
		return src[copy(dst[to:to+shape[0]*size], src):]
	}
	for i := range shape[0] {
		src = scatter(dst, src, to+i*strides[0]*size, shape[1:], strides[1:], size)
	}
	return src
}

// Run checks the inputs of a run and lets it fill tensors that it allocates.
func (p *Program) Run(inputs []*tensor.Tensor, run func(outputs []*tensor.Tensor) error) ([]*tensor.Tensor, error) {
	if err := backend.CheckInputs(p.Graph, inputs); err != nil {
		return nil, err
	}
	outputs, err := p.Outputs()
	if err != nil {
		return nil, err
	}
	if err := run(outputs); err != nil {
		return nil, err
	}
	return outputs, nil
}

// Outputs allocates tensors for the results of a run.
func (p *Program) Outputs() ([]*tensor.Tensor, error) {
	outs := make([]*tensor.Tensor, len(p.Graph.Outputs))
	for i, v := range p.Graph.Outputs {
		t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", v, err)
		}
		outs[i] = t
	}
	return outs, nil
}

// Copy fills the outputs that [Program.Copied] names from where they stand.
func (p *Program) Copy(f *Frame, outputs []*tensor.Tensor) {
	for _, i := range p.Copied {
		v := p.Graph.Outputs[i]
		at := p.Place(v)
		gather(Bytes(outputs[i]), f.Memory[at.Buffer], int(at.Offset), v.Spec.Shape, p.Strides(v), v.Spec.DType.Size())
	}
}
