package wgsl

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
)

// collect copies operands of a kernel that only reads them into one buffer, until it has no
// more bindings than a shader may have.
func (p *Program) collect(n *ir.Node, k *loop.Kernel, places []place, most int) ([]place, error) {
	if k.CanFault() {
		most-- // the word of faults
	}
	written := make(map[int]bool)
	for i, q := range k.Params {
		written[places[i].buffer] = written[places[i].buffer] || q.Written
	}
	together := make(map[Elem]int) // the buffers of copies
	moved := append([]place{}, places...)
	for i := len(moved) - 1; i >= 0 && distinct(moved) > most; i-- {
		at := moved[i]
		elem, err := p.target.elemOf(k.Params[i].DType()) // a copy is written
		if err != nil {
			return nil, err
		}
		b, begun := together[elem]
		if written[at.buffer] || begun && b == at.buffer {
			continue
		}
		if !begun {
			b = p.own(Buffer{Name: fmt.Sprintf("%s_operands_%s", n.Out[0].Name, elem), Kind: Scratch})
			together[elem] = b
		}
		to := &p.Plan.Buffers[b]
		first := int(to.Bytes) / elem.Size()
		to.Bytes += bytesFor(at.end-at.first, elem)
		if err := p.fits(to); err != nil {
			return nil, err
		}
		copied := place{buffer: b, first: first, end: first + at.end - at.first, start: first, elem: elem}
		if err := p.copyStorage(n, k.Params[i], at, copied); err != nil {
			return nil, err
		}
		for j := range moved { // views of the same storage
			if o := moved[j]; o.buffer == at.buffer && o.first == at.first {
				moved[j] = copied
				moved[j].start += o.start - o.first
			}
		}
	}
	if have := distinct(moved); have > most {
		return nil, fmt.Errorf("it needs %d buffers and may have %d: maxStorageBuffersPerShaderStage is %d", have, most, p.target.Limits.StorageBuffers)
	}
	return moved, nil
}

// distinct counts buffers.
func distinct(list []place) int {
	seen := make(map[int]bool)
	for _, at := range list {
		seen[at.buffer] = true
	}
	return len(seen)
}

// copyStorage copies all that a parameter's storage has.
func (p *Program) copyStorage(n *ir.Node, q loop.Param, from, to place) error {
	from.start = from.first
	all := &loop.Local{Name: "storage", DType: q.DType(), Elements: from.end - from.first}
	over := func(i int) *loop.Access { return &loop.Access{Param: i, Strides: []int{1}, Bits: true} }
	copied := &loop.Kernel{
		Op:     "copy",
		Params: []loop.Param{{Local: all, Written: true}, {Local: all}},
		Nest: &loop.Nest{Line: []int{all.Elements}, Stages: []loop.Stage{{
			Expr: &loop.Expr{Op: loop.Load, Type: q.DType(), Access: over(1)}, Store: over(0),
		}}},
	}
	return p.emit(n, copied, []place{to, from})
}
