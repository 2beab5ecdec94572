package planned

import (
	"fmt"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
)

// List is the kernels of a graph in the form of package loop, with the layout that the
// plan gives to values: what backends that generate code print in their languages.
func List(g *ir.Graph, maxBytes int64) (*backend.Listing, error) {
	p, err := New(g, maxBytes)
	if err != nil {
		return nil, err
	}
	l := &backend.Listing{Lang: "loop", File: g.Name + ".loop", Most: 1}
	type listed struct {
		backend.Listed
		text string
	}
	var kernels []listed
	var code strings.Builder
	for _, n := range p.Graph.Nodes {
		if p.Idle(n) != "" {
			continue
		}
		value := n.Out[0].String()
		list, err := p.Lower(n)
		if err != nil {
			l.Missing = append(l.Missing, fmt.Sprintf("%s = %s: %v", value, n.Op.Name, err))
			continue
		}
		for _, k := range list {
			text := k.String()
			code.WriteString(text + "\n")
			kernels = append(kernels, listed{backend.Listed{Value: value, Doc: n.Line(), Name: k.Op, Launch: "as a backend schedules it"}, text})
		}
	}
	l.Code = code.String()
	for _, k := range kernels {
		l.Add(k.Listed, k.text)
	}
	return l, nil
}
