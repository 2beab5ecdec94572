package plan

import "encoding/json"

// JSONVersion is the version of the JSON form. A field may be added within a
// version; a change of meaning makes a new one.
const JSONVersion = 1

type jsonPlan struct {
	Format     string          `json:"format"` // "forge.plan"
	Version    int             `json:"version"`
	Program    string          `json:"program"`
	Policy     string          `json:"policy"`
	Packing    string          `json:"packing"`
	Naive      int64           `json:"naive_bytes"`
	Planned    int64           `json:"planned_bytes"`
	Lower      int64           `json:"lower_bound_bytes"`
	Bound      int64           `json:"any_schedule_bytes"`
	Scratch    int64           `json:"scratch_bytes"`
	Ratio      float64         `json:"ratio"`
	Steps      []jsonStep      `json:"steps"`
	Slots      []jsonSlot      `json:"slots"`
	Values     []jsonValue     `json:"values"`
	Candidates []jsonCandidate `json:"candidates"`
}

type jsonStep struct {
	Op      string   `json:"op"`
	Results []string `json:"results"`
	Live    int64    `json:"live_bytes"`
	Scratch int64    `json:"scratch_bytes,omitempty"`
}

type jsonSlot struct {
	DType  string `json:"dtype"`
	Device string `json:"device"`
	Bytes  int64  `json:"bytes"`
}

type jsonValue struct {
	Name    string `json:"name"`
	DType   string `json:"dtype"`
	Device  string `json:"device"`
	Shape   []int  `json:"shape"`
	Bytes   int64  `json:"bytes"`
	Place   Place  `json:"place"`
	Slot    *int   `json:"slot,omitempty"` // absent outside slots
	Offset  int64  `json:"offset"`
	Strides []int  `json:"strides"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
	Base    string `json:"base"`
	ViewOf  string `json:"view_of,omitempty"`
	Donated string `json:"in_place_of,omitempty"`
	Copied  bool   `json:"copied_out,omitempty"`
}

type jsonCandidate struct {
	Policy  string `json:"policy"`
	Lower   int64  `json:"lower_bound_bytes"`
	Planned int64  `json:"planned_bytes"`
	Packing string `json:"packing"`
}

// MarshalJSON returns the plan without the graph; values and steps name what
// they are about. Sizes and offsets are in bytes, strides in elements.
func (p *Plan) MarshalJSON() ([]byte, error) {
	out := jsonPlan{
		Format: "forge.plan", Version: JSONVersion, Program: p.Graph.Name, Policy: p.Policy, Packing: p.Packing,
		Naive: p.Naive, Planned: p.Planned, Lower: p.Lower, Bound: p.Bound, Scratch: p.Scratch, Ratio: p.Ratio(),
		Steps: []jsonStep{}, Slots: []jsonSlot{}, Values: []jsonValue{}, Candidates: []jsonCandidate{},
	}
	for _, s := range p.Steps {
		step := jsonStep{Op: s.Node.Op.Name, Live: s.Live, Scratch: s.Scratch}
		for _, v := range s.Node.Out {
			step.Results = append(step.Results, v.Name)
		}
		out.Steps = append(out.Steps, step)
	}
	for _, s := range p.Slots {
		out.Slots = append(out.Slots, jsonSlot{s.DType.String(), s.Device.String(), s.Bytes})
	}
	for i := range p.Values {
		v := &p.Values[i]
		j := jsonValue{
			Name: v.Name, DType: v.Spec.DType.String(), Device: v.Spec.Device.String(), Shape: append([]int{}, v.Spec.Shape...), Bytes: v.Bytes, Place: v.Place, Offset: v.Offset,
			Strides: append([]int{}, v.Strides...), Start: v.Start, End: v.End, Base: v.Base, ViewOf: v.ViewOf, Donated: v.Donated, Copied: v.Copied,
		}
		if v.Place == InSlot {
			j.Slot = &v.Slot
		}
		out.Values = append(out.Values, j)
	}
	for _, c := range p.Candidates {
		out.Candidates = append(out.Candidates, jsonCandidate(c))
	}
	return json.Marshal(out)
}
