package wgsl

import "forgekernel/forge/tensor"

// Filled is the content of the buffers before a run of the plan elsewhere, constants
// included. The inputs are as the graph declares them.
func (p *Program) Filled(inputs []*tensor.Tensor) Memory {
	return p.filled(p.constants(), inputs)
}

// constants are the contents of constant buffers.
func (p *Program) constants() map[int][]byte {
	all := make(map[int][]byte)
	for i, t := range p.Constants {
		all[i] = make([]byte, p.Plan.Buffers[i].Bytes)
		encode(all[i], p.Plan.Buffers[i].Elem, t)
	}
	return all
}

func (p *Program) filled(constants map[int][]byte, inputs []*tensor.Tensor) Memory {
	m := make(Memory, len(p.Plan.Buffers))
	for i, b := range p.Plan.Buffers {
		if m[i] = constants[i]; m[i] == nil && (b.Kind.Filled() || b.Kind.Read()) {
			m[i] = make([]byte, b.Bytes)
		}
	}
	for i, t := range inputs {
		if b := p.Inputs[i]; b >= 0 {
			encode(m[b], p.Plan.Buffers[b].Elem, t)
		}
	}
	return m
}

// Encoded is a result as it stands in its buffer after a run.
func (p *Program) Encoded(output int, t *tensor.Tensor) []byte {
	b := &p.Plan.Buffers[p.Outputs[output]]
	data := make([]byte, b.Bytes)
	encode(data, b.Elem, t)
	return data
}
