package cuda

import (
	"errors"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
)

// List is the CUDA C of a graph for an architecture, with its kernels told apart, which
// needs no device. Candidate picks one of those of each node, the last where there are
// fewer; -1 keeps the defaults.
func List(g *ir.Graph, arch string, candidate int) (*backend.Listing, error) {
	t, err := parseTarget(arch)
	if err != nil {
		return nil, err
	}
	l := &backend.Listing{Lang: "cuda", File: g.Name + ".cu", Most: 1}
	pick := func(_ *ir.Node, list []Candidate) (int, string) {
		l.Most = max(l.Most, len(list))
		return max(0, min(candidate, len(list)-1)), ""
	}
	p, err := newProgram(newUnit(t), g, DefaultMaxBytes, pick)
	if missing := (*Unsupported)(nil); errors.As(err, &missing) {
		l.Missing = missing.Reasons
	} else if err != nil {
		return nil, err
	}
	p.list(l)
	return l, nil
}

// Listing is the CUDA C that runs, with its kernels told apart.
func (x *Executable) Listing() *backend.Listing {
	l := &backend.Listing{Lang: "cuda", File: x.Graph().Name + ".cu", Most: 1}
	x.program.list(l)
	return l
}

// list adds the kernels of the steps to a listing.
func (p *program) list(l *backend.Listing) {
	l.Code = p.unit.source().Text
	for _, s := range p.steps {
		k := backend.Listed{Doc: s.String(), Name: s.name, Launch: s.launch.String()}
		if s.node != nil {
			k.Value, k.Doc = s.node.Out[0].String(), s.node.Line()
		}
		switch {
		case s.call != nil:
			l.Missing = append(l.Missing, k.Doc+": a call of a library")
		case s.machine != nil:
			l.Missing = append(l.Missing, k.Doc+": it is in Triton")
		default:
			l.Add(k, p.unit.texts[s.name])
		}
	}
}
