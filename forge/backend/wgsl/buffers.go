package wgsl

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
)

// place is where a parameter stands: the elements from first to end of a buffer are the
// storage that it lies in, and its own first element is start.
type place struct {
	buffer            int
	first, end, start int
	elem              Elem
}

// placeOf is where a value stands.
func (p *Program) placeOf(v *ir.Value) (place, error) {
	base := v
	for p.IsView(base) {
		base = base.Def.In[0]
	}
	at, from := p.Place(v), p.Place(base)
	elemOf := p.target.elemOf
	if at.Buffer >= 0 && p.onlyRead(at.Buffer) {
		elemOf = p.target.elemRead
	}
	elem, err := elemOf(v.Spec.DType)
	if err != nil {
		return place{}, fmt.Errorf("%v is %v: %w", v, v.Spec.DType, err)
	}
	if at.Buffer < 0 || base.Spec.Elements() == 0 {
		return place{buffer: p.nothing(elem), elem: elem, end: 1}, nil
	}
	size := int64(v.Spec.DType.Size())
	w := place{first: int(from.Offset / size), start: int(at.Offset / size), elem: elem}
	w.end = w.first + base.Spec.Elements()
	w.buffer = p.bufferOf(at.Buffer, elem)
	return w, p.reserve(w)
}

// onlyRead reports whether no kernel writes a piece of the planned memory.
func (p *Program) onlyRead(i int) bool {
	b := &p.Program.Buffers[i]
	return b.Constant != nil || b.Input >= 0 && !b.Updated
}

// reserve makes a buffer large enough for a place.
func (p *Program) reserve(w place) error {
	b := &p.Plan.Buffers[w.buffer]
	if b.Kind == Scratch {
		b.Bytes = max(b.Bytes, bytesFor(w.end, w.elem))
	}
	return p.fits(b)
}

func (p *Program) fits(b *Buffer) error {
	if most := p.target.Limits.BufferBytes; b.Bytes > most {
		return fmt.Errorf("%s needs a buffer of %d bytes; maxBufferSize is %d", b.Name, b.Bytes, most)
	}
	return nil
}

// bytesFor is the size of a buffer for some elements.
func bytesFor(elements int, e Elem) int64 {
	return max(4, (int64(elements)*int64(e.Size())+3)/4*4)
}

// bufferOf is the buffer for elements of one form of a piece of the planned memory.
func (p *Program) bufferOf(i int, elem Elem) int {
	key := bufferKey{i, elem}
	if b, known := p.buffers[key]; known {
		return b
	}
	from := &p.Program.Buffers[i]
	b := Buffer{Kind: Scratch, Bytes: 4}
	switch {
	case from.Slot >= 0:
		b.Name = fmt.Sprintf("slot%d_%s", from.Slot, elem)
	case from.Input >= 0:
		b = p.tensorBuffer(Input, p.Graph.Inputs[from.Input], elem)
		if from.Updated {
			b.Kind = Updated
		}
		p.Inputs[from.Input] = len(p.Plan.Buffers)
	case from.Constant != nil:
		b = Buffer{Name: fmt.Sprintf("constant%d", i), Kind: Constant, DType: from.Constant.DType().String(), Shape: from.Constant.Shape(), Elem: elem}
		b.Bytes = bytesFor(from.Constant.Len(), elem)
		p.Constants[len(p.Plan.Buffers)] = from.Constant
	case from.Output != nil:
		b.Name = from.Output.Name
	}
	return p.addBuffer(key, b)
}

func (p *Program) addBuffer(key bufferKey, b Buffer) int {
	p.Plan.Buffers = append(p.Plan.Buffers, b)
	p.buffers[key] = len(p.Plan.Buffers) - 1
	return len(p.Plan.Buffers) - 1
}

// tensorBuffer is a buffer for all of a value.
func (p *Program) tensorBuffer(k Kind, v *ir.Value, elem Elem) Buffer {
	return Buffer{Name: v.Name, Kind: k, Bytes: bytesFor(v.Spec.Elements(), elem), DType: v.Spec.DType.String(), Shape: v.Spec.Shape, Elem: elem}
}

// Keys of buffers that are no memory of the planned program.
const (
	noMemory   = -1 // of operands without elements
	faultWord  = -2
	firstLocal = -3 // and below: memory of nodes and copies of results
)

func (p *Program) nothing(elem Elem) int {
	if b, known := p.buffers[bufferKey{noMemory, elem}]; known {
		return b
	}
	return p.addBuffer(bufferKey{noMemory, elem}, Buffer{Name: fmt.Sprintf("nothing_%s", elem), Kind: Scratch, Bytes: 16})
}

func (p *Program) faultBuffer() int {
	if b, known := p.buffers[bufferKey{planned: faultWord}]; known {
		return b
	}
	return p.addBuffer(bufferKey{planned: faultWord}, Buffer{Name: "fault", Kind: Fault, Bytes: 4})
}

// own adds a buffer that no other value has.
func (p *Program) own(b Buffer) int {
	return p.addBuffer(bufferKey{planned: firstLocal - len(p.buffers)}, b)
}

// placeOfLocal is memory of a node's own.
func (p *Program) placeOfLocal(n *ir.Node, l *loop.Local, known map[*loop.Local]int) (place, error) {
	elemOf := p.target.elemOf
	if l.Constant != nil {
		elemOf = p.target.elemOfConstant
	}
	elem, err := elemOf(l.DType)
	if err != nil {
		return place{}, fmt.Errorf("memory of the node is %v: %w", l.DType, err)
	}
	w := place{end: l.Elements, elem: elem}
	var is bool
	if w.buffer, is = known[l]; is {
		return w, nil
	}
	b := Buffer{Name: fmt.Sprintf("%s_%s", n.Out[0].Name, l.Name), Kind: Scratch, Bytes: bytesFor(l.Elements, elem)}
	if l.Constant != nil {
		b.Kind, b.DType, b.Shape, b.Elem = Constant, l.DType.String(), l.Constant.Shape(), elem
	}
	w.buffer = p.own(b)
	known[l] = w.buffer
	if l.Constant != nil {
		p.Constants[w.buffer] = l.Constant
	}
	return w, p.fits(&p.Plan.Buffers[w.buffer])
}

// results makes the buffers of the results.
func (p *Program) results() error {
	p.Inputs, p.Outputs = make([]int, len(p.Graph.Inputs)), make([]int, len(p.Graph.Outputs))
	for i := range p.Inputs {
		p.Inputs[i] = -1
	}
	where := make(map[int]int) // the piece of memory that is all of a result
	for i := range p.Program.Buffers {
		if r := p.Program.Buffers[i].Result; r >= 0 {
			where[r] = i
		}
	}
	for i, v := range p.Graph.Outputs {
		p.Outputs[i] = -1
		elem, err := p.target.elemOf(v.Spec.DType)
		if err != nil {
			return fmt.Errorf("%v is %v: %w", v, v.Spec.DType, err)
		}
		if v.Spec.Elements() == 0 {
			continue
		}
		b := p.tensorBuffer(Output, v, elem)
		if err := p.fits(&b); err != nil {
			return err
		}
		at, whole := where[i]
		switch {
		case !whole:
			p.Outputs[i] = p.own(b)
		case p.Program.Buffers[at].Input >= 0: // an input that the program updates
			p.Outputs[i] = p.bufferOf(at, elem)
		default:
			p.Outputs[i] = p.addBuffer(bufferKey{at, elem}, b)
		}
	}
	return nil
}

// require says which features the plan needs.
func (p *Program) require() {
	for _, b := range p.Plan.Buffers {
		if b.Elem == ElemF16 {
			p.Plan.Features = []string{ShaderF16}
		}
	}
}
