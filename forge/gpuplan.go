package forge

import (
	"fmt"
	"html"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/tensor"
)

// GPUPlan is a program as compute shaders for WebGPU, to be looked at: what is dispatched
// in which order over which buffers, and why so.
type GPUPlan struct {
	*wgsl.Program
	name string
}

// GPUPlan makes the plan of a program for devices with the default limits of WebGPU, or
// for those that have shader-f16 besides. It needs no GPU. The error names the nodes
// that have no shader, with the reasons.
func (p *Program) GPUPlan(f16 bool) (*GPUPlan, error) {
	t := wgsl.DefaultTarget
	t.F16 = f16
	made, err := wgsl.NewProgram(p.graph(), t)
	if err != nil {
		return nil, err
	}
	return &GPUPlan{made, p.Name()}, nil
}

// Source is the text of all modules, one after another.
func (g *GPUPlan) Source() display.Source { return g.List().Source() }

// Summary says in a few lines what the plan needs of a device, and whether it is worth one.
func (g *GPUPlan) Summary() string {
	p := g.Plan
	var total, scratch int64
	for _, b := range p.Buffers {
		if total += b.Bytes; b.Kind == wgsl.Scratch {
			scratch += b.Bytes
		}
	}
	features := "no features"
	if len(p.Features) > 0 {
		features = strings.Join(p.Features, ", ")
	}
	return fmt.Sprintf("%s: %s of %s; %s in %s, %s of them scratch; it needs %s\n%v",
		g.name, fmt.Sprintf("dispatches: %d", len(p.Dispatches)), display.Count(len(p.Modules), "module"), display.FormatBytes(total),
		display.Count(len(p.Buffers), "buffer"), display.FormatBytes(scratch), features, g.Worth())
}

// Dispatches is the table of what runs, in order.
func (g *GPUPlan) Dispatches() display.Table {
	right := func(name string) display.Column { return display.Column{Name: name, Align: display.AlignRight} }
	t := display.Table{Columns: []display.Column{{Name: "node"}, {Name: "module"}, right("workgroups"), right("of"), right("shared bytes"), {Name: "bindings"}, {Name: "why so"}}}
	for _, d := range g.Plan.Dispatches {
		var bound []string
		for _, b := range d.Bindings {
			text := g.Plan.Buffers[b.Buffer].Name
			if b.Write {
				text += "*"
			}
			bound = append(bound, text)
		}
		t.Rows = append(t.Rows, []any{d.Node, g.Plan.Modules[d.Module].Name, wgsl.Sizes(d.Groups), wgsl.Sizes(d.Workgroup), d.Storage, strings.Join(bound, " "), d.Reason})
	}
	return t
}

// Buffers is the table of the memory of the device.
func (g *GPUPlan) Buffers() display.Table {
	t := display.Table{Columns: []display.Column{{Name: "buffer"}, {Name: "kind"}, {Name: "bytes", Align: display.AlignRight}, {Name: "tensor"}, {Name: "elements as"}}}
	for _, b := range g.Plan.Buffers {
		held := ""
		if b.DType != "" {
			held = b.DType + tensor.FormatShape(b.Shape)
		}
		t.Rows = append(t.Rows, []any{b.Name, string(b.Kind), b.Bytes, held, string(b.Elem)})
	}
	return t
}

// Nodes is the table of how each node is run, and why.
func (g *GPUPlan) Nodes() display.Table {
	t := display.Table{Columns: []display.Column{{Name: "value"}, {Name: "kernel"}, {Name: "why"}}}
	for _, k := range g.Kernels() {
		t.Rows = append(t.Rows, []any{k.Value, k.Kernel, k.Reason})
	}
	return t
}

// Limits is the table of what the plan takes of each limit that a device has.
func (g *GPUPlan) Limits() display.Table {
	t := display.Table{Columns: []display.Column{{Name: "limit"}, {Name: "most", Align: display.AlignRight}, {Name: "allowed", Align: display.AlignRight}}}
	for _, u := range g.Plan.Uses() {
		t.Rows = append(t.Rows, []any{u.Limit, u.Most, u.Allowed})
	}
	return t
}

// Text is the summary with all tables.
func (g *GPUPlan) Text() string {
	parts := []string{g.Summary()}
	for _, t := range g.tables() {
		parts = append(parts, t.Title+"\n"+strings.TrimRight(untitled(t).Text(), "\n"))
	}
	return strings.Join(parts, "\n\n")
}

func (g *GPUPlan) tables() []display.Table {
	list := []display.Table{g.Dispatches(), g.Buffers(), g.Limits(), g.Nodes()}
	for i, title := range []string{"dispatches (* is written)", "buffers", "limits", "nodes"} {
		list[i].Title = title
	}
	return list
}

func untitled(t display.Table) display.Table {
	t.Title = ""
	return t
}

// Display shows the summary and the tables.
func (g *GPUPlan) Display() display.Bundle {
	page := "<p>" + strings.ReplaceAll(html.EscapeString(g.Summary()), "\n", "<br>") + "</p>\n"
	for _, t := range g.tables() {
		if part, is := t.Display().Data["text/html"].(string); is {
			page += part
		}
	}
	return display.Bundle{Data: map[string]any{"text/html": page, "text/plain": g.Text()}}
}
