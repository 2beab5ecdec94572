package triton

import (
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
)

// List writes the module of a graph with its kernels told apart. Candidate picks one of
// those of each kernel, the last where there are fewer; -1 keeps all.
func List(g *ir.Graph, candidate int) (*backend.Listing, error) {
	m, err := Source(g)
	if err != nil {
		return nil, err
	}
	l := &backend.Listing{Lang: "triton", File: identifier(g.Name) + ".py"}
	for _, k := range m.Kernels {
		l.Most = max(l.Most, len(k.Candidates))
		if candidate >= 0 {
			i := min(candidate, len(k.Candidates)-1)
			k.Candidates = k.Candidates[i : i+1]
		}
	}
	l.Code = m.String()
	for _, k := range m.Kernels {
		launch := k.Candidates[0].String()
		if more := len(k.Candidates) - 1; more > 0 {
			launch += fmt.Sprintf(", or one of %d other ways", more)
		}
		l.Add(backend.Listed{Value: k.Value, Doc: k.Doc, Name: k.Name, Launch: launch}, k.Text)
	}
	for _, n := range m.Missing {
		l.Missing = append(l.Missing, fmt.Sprintf("%s = %s: %s", n.Value, n.Op, n.Why))
	}
	return l, nil
}
