package cpu

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
)

// List is the C of a graph for the backend's target, with its kernels told apart, which
// needs no compiler. Candidate picks one of the schedules that tuning would try for each
// kernel, the last where there are fewer; -1 keeps the backend's own.
func (b *Backend) List(g *ir.Graph, candidate int) (*backend.Listing, error) {
	steps, _, err := b.Steps(g)
	if err != nil {
		return nil, err
	}
	l := &backend.Listing{Lang: "c", File: g.Name + ".c", Most: 1}
	chosen := make(Schedules)
	for _, s := range steps {
		l.Most = max(l.Most, len(s.Proposals))
		if candidate >= 0 {
			chosen[s.Shape] = s.Proposals[min(candidate, len(s.Proposals)-1)].Schedule
		}
	}
	p, err := b.prepare(g, func([]string) Schedules { return chosen })
	if err != nil {
		return nil, err
	}
	p.list(l)
	return l, nil
}

// Listing is the C that runs, with its kernels told apart.
func (x *executable) Listing() *backend.Listing {
	l := &backend.Listing{Lang: "c", File: x.Graph().Name + ".c", Most: 1}
	x.program.list(l)
	return l
}

// list adds the kernels of the steps to a listing.
func (p *program) list(l *backend.Listing) {
	u := newUnit(p.target)
	u.add(p, 0)
	l.Code = u.text()
	texts := make(map[string]string)
	for text, k := range u.kernels {
		texts[k.name] = strings.ReplaceAll(text, placeholder, k.name)
	}
	for _, s := range p.steps {
		if s.node == nil {
			k := u.kernel(s)
			l.Add(backend.Listed{Doc: "the copy of an input to a result", Name: k.name, Launch: s.reason(p.target)}, texts[k.name])
			continue
		}
		value := s.node.Out[0].String()
		if s.kernel == nil {
			told := p.kernels[slices.IndexFunc(p.kernels, func(k backend.Kernel) bool { return k.Value == value })]
			l.Missing = append(l.Missing, fmt.Sprintf("%s = %s: %s", value, told.Kernel, told.Reason))
			continue
		}
		k := u.kernel(s)
		l.Add(backend.Listed{Value: value, Doc: s.node.Line(), Name: k.name, Launch: s.reason(p.target)}, texts[k.name])
	}
}
