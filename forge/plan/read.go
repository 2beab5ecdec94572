package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Parse reads the JSON form of a plan of g, whose nodes stand in the order in
// which the plan runs them. It checks the form only: [Verify] proves the plan.
func Parse(g *ir.Graph, raw []byte) (*Plan, error) {
	var in jsonPlan
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return nil, fmt.Errorf("plan JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("plan JSON: something follows the plan")
	}
	if in.Format != "forge.plan" || in.Version != JSONVersion {
		return nil, fmt.Errorf("plan JSON: format %q, version %d; this program reads forge.plan, version %d", in.Format, in.Version, JSONVersion)
	}
	if in.Program != g.Name {
		return nil, fmt.Errorf("plan JSON: it is of %q, not of %q", in.Program, g.Name)
	}
	p := &Plan{
		Graph: g, Policy: in.Policy, Packing: in.Packing,
		Naive: in.Naive, Planned: in.Planned, Lower: in.Lower, Bound: in.Bound, Scratch: in.Scratch,
	}
	if err := p.fill(&in); err != nil {
		return nil, fmt.Errorf("plan JSON: %w", err)
	}
	if in.Ratio != p.Ratio() {
		return nil, fmt.Errorf("plan JSON: the ratio of %d and %d bytes is %v, not %v", p.Planned, p.Lower, p.Ratio(), in.Ratio)
	}
	return p, nil
}

// fill adds the lists.
func (p *Plan) fill(in *jsonPlan) error {
	values := make(map[string]*ir.Value)
	for v := range p.Graph.Values {
		values[v.Name] = v
	}
	for i, s := range in.Steps {
		node, err := s.node(values)
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		p.Steps = append(p.Steps, Step{Node: node, Live: s.Live, Scratch: s.Scratch})
	}
	for i, s := range in.Slots {
		dtype, ok := tensor.ParseDType(s.DType)
		if !ok || s.Bytes < 0 {
			return fmt.Errorf("slot %d: there are no %d bytes of %q", i, s.Bytes, s.DType)
		}
		device, err := ir.ParseDevice(s.Device)
		if err != nil {
			return fmt.Errorf("slot %d: %w", i, err)
		}
		p.Slots = append(p.Slots, Slot{DType: dtype, Device: device, Bytes: s.Bytes})
	}
	for _, j := range in.Values {
		v, err := j.value()
		if err != nil {
			return fmt.Errorf("value %s: %w", j.Name, err)
		}
		p.Values = append(p.Values, v)
	}
	for _, c := range in.Candidates {
		p.Candidates = append(p.Candidates, Candidate(c))
	}
	return nil
}

// node is the node that computes the results of a step.
func (s jsonStep) node(values map[string]*ir.Value) (*ir.Node, error) {
	if len(s.Results) == 0 {
		return nil, errors.New("it has no results")
	}
	v := values[s.Results[0]]
	if v == nil || v.Def == nil || v.Def.Op.Name != s.Op || len(v.Def.Out) != len(s.Results) {
		return nil, fmt.Errorf("the program computes no %v by %s", s.Results, s.Op)
	}
	for i, out := range v.Def.Out {
		if out.Name != s.Results[i] {
			return nil, fmt.Errorf("result %d is %s, not %s", i, out.Name, s.Results[i])
		}
	}
	return v.Def, nil
}

func (j jsonValue) value() (Value, error) {
	dtype, ok := tensor.ParseDType(j.DType)
	if !ok {
		return Value{}, fmt.Errorf("%q is not an element type", j.DType)
	}
	device, err := ir.ParseDevice(j.Device)
	if err != nil {
		return Value{}, err
	}
	spec := ir.Spec{DType: dtype, Shape: j.Shape, Device: device}
	if err := spec.Check(); err != nil {
		return Value{}, err
	}
	v := Value{
		Name: j.Name, Spec: spec, Bytes: j.Bytes, Place: j.Place, Slot: -1, Offset: j.Offset, Strides: j.Strides,
		Start: j.Start, End: j.End, Base: j.Base, ViewOf: j.ViewOf, Donated: j.Donated, Copied: j.Copied,
	}
	if j.Slot != nil {
		v.Slot = *j.Slot
	}
	return v, nil
}
