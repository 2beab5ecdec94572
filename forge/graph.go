package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/tensor"
)

// FromGraph compiles a graph, which must be valid. The program keeps copies of
// everything, constants included: changing g or the tensors that it was built
// from does not change the program, unless [SharedConstants] gives the tensors to
// it. [Named] names where the graph came from and [After] the pass that made it.
func FromGraph(g *ir.Graph, opts ...Option) (*Program, error) {
	if err := ir.Verify(g); err != nil {
		return nil, err
	}
	s := newSettings(opts)
	if s.after == pass.TraceSnapshot {
		s.after = ""
	}
	if s.keeps {
		g = g.Clone()
	} else {
		g = ownCopy(g)
	}
	from := graphOrigin{g, s.name}
	p, err := build(callContext(), from, g, s, pass.Options{After: s.after})
	if err != nil && callContext().Err() == nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return p, err
}

// dumpHeader opens a dump and is followed by the name of a pass. It is a
// comment of the text form.
const dumpHeader = "# after "

// Dump is the program after a pass of [Program.Snapshots] as IR text, complete
// with constants. [FromIR] resumes from there.
func (p *Program) Dump(after string) (string, error) {
	var names []string
	for _, s := range p.passes.Snapshots {
		if s.Pass == after {
			return dumpHeader + after + "\n" + s.Text(), nil
		}
		names = append(names, s.Pass)
	}
	return "", fmt.Errorf("%s has no snapshot after %q; there are %s", p.Name(), after, strings.Join(names, ", "))
}

// MaxIR is the largest IR text that [FromIR] reads, in bytes.
const MaxIR = ir.MaxText

// Passes names the passes in the order in which they run.
func Passes() []string { return pass.Names() }

// FromIR reads IR text as [Program.Dump] writes it and compiles it from where it
// stands: the passes after the one that its first line names run, or those
// after [After]. Text without either runs through all of them.
func FromIR(text string, opts ...Option) (*Program, error) {
	s := newSettings(opts)
	g, err := ir.Parse(op.Registry, text)
	if syntax := (*ir.SyntaxError)(nil); errors.As(err, &syntax) {
		syntax.Source = s.name
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return FromGraph(g, append(slices.Clone(opts), SharedConstants(), After(cmp.Or(s.after, dumpedAfter(text))))...)
}

// dumpedAfter is the pass that the first line of a dump names, or "".
func dumpedAfter(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	name, ok := strings.CutPrefix(first, dumpHeader)
	if !ok {
		return ""
	}
	return strings.TrimSpace(name)
}

// ownCopy copies a graph together with its tensors.
func ownCopy(g *ir.Graph) *ir.Graph {
	g = g.Clone()
	for _, n := range g.Nodes {
		for name, v := range n.Attrs {
			if t, ok := v.(*tensor.Tensor); ok {
				n.Attrs[name] = t.Clone()
			}
		}
		if n.Body != nil {
			n.Body = ownCopy(n.Body)
		}
	}
	return g
}

// graphOrigin is a graph without source text.
type graphOrigin struct {
	graph *ir.Graph
	name  string // of where it came from
}

func (o graphOrigin) programName() string { return o.graph.Name }

func (o graphOrigin) source() display.Source {
	return display.Source{Lang: "ir", Code: o.graph.Listing(), Name: o.name}
}

func (o graphOrigin) specs(args []*Tensor) ([]Spec, error) {
	specs := make([]Spec, len(args))
	for i, a := range args {
		if a == nil {
			return nil, &CallError{Function: o.graph.Name, Diagnostic: diagnostic(fmt.Sprintf("argument %d of %s is nil", i+1, o.graph.Name), "pass a tensor")}
		}
		specs[i] = ir.SpecOf(a)
	}
	return specs, nil
}

func (o graphOrigin) callError(ctx context.Context, err error, _ []Spec) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &CallError{Function: o.graph.Name, Diagnostic: diagnostic(err.Error(), "")}
}
