package planned

import (
	"cmp"
	"fmt"
	"slices"

	"forgekernel/forge/tensor"
)

// span is the memory of an input or an output.
type span struct {
	from, to uintptr
	output   bool
	name     string
}

// CheckApart refuses outputs in memory that belongs to another output or to an
// input, unless it is the input which the program updates to give the output.
func (p *Program) CheckApart(f *Frame, outputs, inputs []*tensor.Tensor) error {
	f.spans = f.spans[:0]
	for i, t := range outputs {
		from := Address(Bytes(t))
		f.spans = append(f.spans, span{from, from + uintptr(t.Bytes()), true, p.Graph.Outputs[i].Name})
	}
	for i, t := range inputs {
		from := Address(Bytes(t))
		f.spans = append(f.spans, span{from, from + uintptr(t.Bytes()), false, p.Graph.Inputs[i].Name})
	}
	for i := range p.Buffers {
		if b := &p.Buffers[i]; inPlace(b, outputs, inputs) {
			f.spans[len(outputs)+b.Input].to = 0
		}
	}
	slices.SortFunc(f.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var all, output span // those that reach farthest
	for _, s := range f.spans {
		if s.from >= s.to {
			continue
		}
		if with := &all; s.output && s.from < all.to || s.from < output.to {
			if !s.output {
				with = &output
			}
			return fmt.Errorf("%s: %s and %s lie in the same memory, and the run would write it", p.Graph.Name, with.name, s.name)
		}
		if s.to > all.to {
			all = s
		}
		if s.output && s.to > output.to {
			output = s
		}
	}
	return nil
}
