package wgsl

import (
	"errors"
	"fmt"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
)

// List is the WGSL of a graph with its kernels told apart, which needs no device. Each
// module is one text by itself; in the listing they stand one after another.
func List(g *ir.Graph, t Target) (*backend.Listing, error) {
	p, err := NewProgram(g, t)
	if missing := (*Unsupported)(nil); errors.As(err, &missing) {
		l := p.List()
		l.Missing = missing.Reasons
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	return p.List(), nil
}

// List is the WGSL of a program with its kernels told apart.
func (p *Program) List() *backend.Listing {
	l := &backend.Listing{Lang: "wgsl", File: p.Plan.Name + ".wgsl", Most: 1}
	var code strings.Builder
	for _, m := range p.Plan.Modules {
		code.WriteString(m.listed())
	}
	l.Code = code.String()
	lines := make(map[string]string) // by node
	for _, n := range p.Graph.Nodes {
		lines[n.Out[0].String()] = n.Line()
	}
	for i := range p.Plan.Dispatches {
		d := &p.Plan.Dispatches[i]
		m := p.Plan.Modules[d.Module]
		value, _, _ := strings.Cut(d.Node, " = ")
		doc := lines[value]
		if doc == "" {
			value, doc = "", d.Node
		}
		l.Add(backend.Listed{Value: value, Doc: doc, Name: m.Name, Launch: d.String()}, m.listed())
	}
	return l
}

// listed is a module with its name before it.
func (m *Module) listed() string { return fmt.Sprintf("// %s\n%s\n", m.Name, m.Source) }
