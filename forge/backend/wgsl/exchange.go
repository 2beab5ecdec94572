package wgsl

import "forgekernel/forge/tensor"

// Filled is the content of the buffers before a run of the plan elsewhere, constants
// included. The inputs are as the graph declares them.
func (p *Program) Filled(inputs []*tensor.Tensor) Memory {
	m := p.Plan.NewMemory()
	for i, t := range p.Constants {
		encode(m[i], p.Plan.Buffers[i].Elem, t)
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
