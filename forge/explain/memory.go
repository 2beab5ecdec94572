package explain

import (
	"forgekernel/forge/plan"
)

// Memory is the plan of intermediate values.
type Memory struct {
	Naive   int64 `json:"naive_bytes"`   // every intermediate value with memory of its own
	Planned int64 `json:"planned_bytes"` // the slots
	Lower   int64 `json:"lower_bytes"`   // most bytes live at one step of the schedule
	Bound   int64 `json:"bound_bytes"`   // what every schedule needs at some step
	// Ratio is planned over lower bytes, 1 at best.
	Ratio   float64    `json:"ratio"`
	Scratch int64      `json:"scratch_bytes"` // largest temporary of a kernel, beside the slots
	Policy  string     `json:"policy"`        // that made the schedule
	Packing string     `json:"packing"`
	Tried   []Tried    `json:"tried"`
	Steps   []Step     `json:"steps"`
	Slots   []Slot     `json:"slots"`
	Values  []Resident `json:"values"` // in order of the program; constants left out
}

// Tried is one schedule that was considered.
type Tried struct {
	Policy  string `json:"policy"`
	Packing string `json:"packing"`
	Planned int64  `json:"planned_bytes"`
	Lower   int64  `json:"lower_bytes"`
}

// Step is one kernel of the schedule.
type Step struct {
	Value   string `json:"value"` // what it computes
	Live    int64  `json:"live_bytes"`
	Scratch int64  `json:"scratch_bytes"`
}

// Slot is memory that values share.
type Slot struct {
	DType string `json:"dtype"`
	Bytes int64  `json:"bytes"`
}

// Resident is where a value stands and when.
type Resident struct {
	Value   string `json:"value"`
	Place   string `json:"place"` // slot, input, output or nowhere
	Slot    int    `json:"slot"`  // -1 outside slots
	Offset  int64  `json:"offset"`
	Bytes   int64  `json:"bytes"`
	First   int    `json:"first_step"`
	Last    int    `json:"last_step"`
	ViewOf  string `json:"view_of,omitempty"`
	Donated string `json:"takes_over,omitempty"` // the value whose memory it writes over
	Copied  bool   `json:"copied,omitempty"`     // out of its slot at the end
}

func memoryOf(p *plan.Plan) Memory {
	m := Memory{
		Naive: p.Naive, Planned: p.Planned, Lower: p.Lower, Bound: p.Bound, Ratio: p.Ratio(), Scratch: p.Scratch,
		Policy: p.Policy, Packing: p.Packing,
		Tried: []Tried{}, Steps: []Step{}, Slots: []Slot{}, Values: []Resident{},
	}
	for _, c := range p.Candidates {
		m.Tried = append(m.Tried, Tried{Policy: c.Policy, Packing: c.Packing, Planned: c.Planned, Lower: c.Lower})
	}
	for _, s := range p.Steps {
		m.Steps = append(m.Steps, Step{Value: s.Node.Out[0].String(), Live: s.Live, Scratch: s.Scratch})
	}
	for _, s := range p.Slots {
		m.Slots = append(m.Slots, Slot{DType: s.DType.String(), Bytes: s.Bytes})
	}
	for _, v := range p.Values {
		if v.Place == plan.InConstant {
			continue
		}
		m.Values = append(m.Values, Resident{
			Value: "%" + v.Name, Place: string(v.Place), Slot: v.Slot, Offset: v.Offset, Bytes: v.Bytes,
			First: v.Start, Last: v.End, ViewOf: reference(v.ViewOf), Donated: reference(v.Donated), Copied: v.Copied,
		})
	}
	return m
}

// reference writes the name of a value, if there is one.
func reference(name string) string {
	if name == "" {
		return ""
	}
	return "%" + name
}
