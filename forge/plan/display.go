package plan

import (
	"fmt"
	"strings"

	"forgekernel/display"
	"forgekernel/display/chart"
	"forgekernel/forge/ir"
)

// Text is the plan for a terminal: totals, what was tried, where every value
// stands, and slots over time.
func (p *Plan) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", p.Graph.Name, p.Headline())
	b.WriteString(p.candidateTable().Text())
	b.WriteByte('\n')
	b.WriteString(p.valueTable().Text())
	b.WriteByte('\n')
	b.WriteString(p.Chart().Text)
	return b.String()
}

// Headline is one line of totals.
func (p *Plan) Headline() string {
	line := fmt.Sprintf("planned %s of %s, lower bound %s, ratio %.2f", display.FormatBytes(p.Planned), display.FormatBytes(p.Naive), display.FormatBytes(p.Lower), p.Ratio())
	switch {
	case p.Planned == p.Bound:
		line += "; no schedule needs less"
	case p.Bound < p.Lower:
		line += fmt.Sprintf(" (any schedule needs %s)", display.FormatBytes(p.Bound))
	}
	if p.Scratch > 0 {
		line += fmt.Sprintf("; beside it each thread needs up to %s of scratch", display.FormatBytes(p.Scratch))
	}
	return line
}

func (p *Plan) candidateTable() display.Table {
	t := display.Table{Columns: []display.Column{
		{Name: "schedule"}, {Name: "lower bound", Unit: "bytes"}, {Name: "planned", Unit: "bytes"}, {Name: "packing"}, {Name: "chosen"},
	}}
	for _, c := range p.Candidates {
		chosen := ""
		if c.Policy == p.Policy {
			chosen = "yes"
		}
		t.Rows = append(t.Rows, []any{c.Policy, c.Lower, c.Planned, c.Packing, chosen})
	}
	return t
}

func (p *Plan) valueTable() display.Table {
	t := display.Table{Columns: []display.Column{
		{Name: "value"}, {Name: "type"}, {Name: "bytes"}, {Name: "where"}, {Name: "offset"}, {Name: "live", Unit: "steps"}, {Name: "because"},
	}}
	for i := range p.Values {
		v := &p.Values[i]
		if v.Place == InConstant || v.Place == InInput && v.ViewOf == "" && v.Donated == "" {
			continue
		}
		where := string(v.Place)
		if v.Place == InSlot {
			where = fmt.Sprintf("slot %d", v.Slot)
		}
		t.Rows = append(t.Rows, []any{"%" + v.Name, v.Spec.String(), v.Bytes, where, v.Offset, fmt.Sprintf("%d-%d", v.Start, v.End), v.reason()})
	}
	return t
}

// reason says why a value stands where it stands, if that is not plain.
func (v *Value) reason() string {
	var reasons []string
	if v.ViewOf != "" {
		reasons = append(reasons, "view of %"+v.ViewOf)
	}
	if v.Donated != "" {
		reasons = append(reasons, "in place of %"+v.Donated)
	}
	if v.Copied {
		reasons = append(reasons, "copied out")
	}
	return strings.Join(reasons, ", ")
}

// Chart is the slots over the steps of the schedule, with what stands in them, and
// the bytes that are live, under what is planned and what any plan needs.
func (p *Plan) Chart() chart.Figure { return chart.MemoryPlan(p.charted()) }

func (p *Plan) charted() chart.Plan {
	c := chart.Plan{Title: "Memory of " + p.Graph.Name}
	class := make(map[string]display.Class)
	for _, s := range p.Steps {
		c.Steps = append(c.Steps, s.Node.Op.Name)
		c.Live = append(c.Live, s.Live)
		for _, v := range s.Node.Out {
			class[v.Name] = s.Node.Op.Class.Drawn()
		}
	}
	for i, s := range p.Slots {
		c.Slots = append(c.Slots, chart.Slot{Name: s.name(i), Bytes: s.Bytes})
	}
	handedOn := p.handedOn()
	for i := range p.Values {
		v := &p.Values[i]
		if v.Place != InSlot || v.ViewOf != "" {
			continue
		}
		t := chart.Tenant{
			Slot: v.Slot, Offset: v.Offset, Bytes: v.Bytes, Start: float64(v.Start), End: float64(v.End + 1), Label: "%" + v.Name, Class: class[v.Name],
			Tip: fmt.Sprintf("%%%s: %v\n%s at offset %d, steps %d to %d", v.Name, v.Spec, display.FormatBytes(v.Bytes), v.Offset, v.Start, v.End),
		}
		if why := v.reason(); why != "" {
			t.Tip += "\n" + why
		}
		// In the step of a donation both live in the same bytes: half for each.
		if v.Donated != "" {
			t.Start += 0.5
		}
		if handedOn[v.Name] {
			t.End -= 0.5
		}
		c.Tenants = append(c.Tenants, t)
	}
	if p.Planned == p.Lower {
		c.Bounds = []chart.Bound{{Label: "planned = lower bound", Bytes: p.Lower}}
	} else {
		c.Bounds = []chart.Bound{{Label: "planned", Bytes: p.Planned}, {Label: "lower bound", Bytes: p.Lower}}
	}
	return c
}

// name is "slot 0 f32", with the device where that is not the host.
func (s Slot) name(i int) string {
	name := fmt.Sprintf("slot %d %v", i, s.DType)
	if s.Device != ir.CPU {
		name += " on " + s.Device.String()
	}
	return name
}

// handedOn is the set of values whose storage another took over: the donated
// operand itself, or what that is a view of.
func (p *Plan) handedOn() map[string]bool {
	set := make(map[string]bool)
	wrote := make(map[string]string) // the kernel result that each value is, or is a view of
	for i := range p.Values {
		v := &p.Values[i]
		wrote[v.Name] = v.Name
		if v.ViewOf != "" {
			wrote[v.Name] = wrote[v.ViewOf]
		}
		if v.Donated != "" {
			set[wrote[v.Donated]] = true
		}
	}
	return set
}

// Display shows the plot of slots over time, and as text all of [Plan.Text].
func (p *Plan) Display() display.Bundle {
	b := p.Chart().Display()
	b.Data["text/plain"] = p.Text()
	return b
}
