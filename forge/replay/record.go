// Package replay records what the compiler makes of models, and shows what a
// change of the compiler altered: which model, which pass first, and the lines
// before and after.
//
// A [Record] is a list of sections, one per stage: the parameters, the program
// as it was given, the program after each pass, the memory plans. As text it is
// a file that a person can read and a version control system can compare:
//
//	# mlp_8_64_128
//
//	## trace
//	graph mlp_8_64_128(%x: f32[8,64]) {
//	...
//
//	## fold-constants
//	= trace
//
// A section whose text is that of an earlier one only names it, so that a
// difference shows at the stage that makes it and nowhere else.
package replay

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
	"forgekernel/forge/plan"
)

// Record is what the compiler made of one model.
type Record struct {
	Model    string
	Sections []Section
}

// Section is the outcome of one stage.
type Section struct {
	Name string
	// Text is lines that each end in a newline, none of which begins with "## ".
	Text string
}

// Names of the sections that are not passes.
const (
	Parameters = "parameters"
	PlanBefore = "plan before passes"
	PlanAfter  = "plan"
)

// Take compiles a graph and records every stage. Elements of large constants are
// recorded by their hash only.
func Take(g *ir.Graph, opts pass.Options) (*Record, error) {
	result, err := pass.Run(g, opts)
	if err != nil {
		return nil, err
	}
	r := &Record{Model: g.Name}
	r.add(Parameters, parameters(g))
	for _, s := range result.Snapshots {
		r.add(s.Pass, s.Graph.Listing())
	}
	for _, stage := range []struct {
		name  string
		graph *ir.Graph
	}{{PlanBefore, g}, {PlanAfter, result.Graph}} {
		text, err := plans(stage.graph)
		if err != nil {
			return nil, err
		}
		r.add(stage.name, text)
	}
	return r, nil
}

// add appends a section, whose text ends in exactly one newline.
func (r *Record) add(name, text string) {
	r.Sections = append(r.Sections, Section{name, strings.TrimRight(text, "\n") + "\n"})
}

// parameters counts the constants of a graph and hashes their elements.
func parameters(g *ir.Graph) string {
	hash, elements := sha256.New(), 0
	for _, n := range g.Nodes {
		if t := n.Tensor("value"); t != nil {
			fmt.Fprintln(hash, ir.SpecOf(t))
			hash.Write(t.Encode())
			elements += t.Len()
		}
	}
	return fmt.Sprintf("elements %d\nsha256 %x\n", elements, hash.Sum(nil))
}

// plans is the plan with and without reuse in place. Both pass the checker.
func plans(g *ir.Graph) (string, error) {
	p, err := plan.New(g, plan.Options{})
	if err != nil {
		return "", err
	}
	plain, err := plan.New(g, plan.Options{NoReuseInPlace: true})
	if err != nil {
		return "", err
	}
	for _, p := range []*plan.Plan{p, plain} {
		if err := plan.Verify(p); err != nil {
			return "", err
		}
	}
	nodes := pass.Summarise(g).Nodes
	return fmt.Sprintf("nodes %d, kernels %d\nnaive %d bytes\nplanned %d bytes, %d without reuse in place\n\n%s", nodes, len(p.Steps), p.Naive, p.Planned, plain.Planned, p.Text()), nil
}

// Text is the record as a file, which [Parse] reads back.
func (r *Record) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", r.Model)
	first := make(map[string]string) // the section that a text was first in
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "\n## %s\n", s.Name)
		if as, ok := first[s.Text]; ok {
			fmt.Fprintf(&b, "= %s\n", as)
			continue
		}
		first[s.Text] = s.Name
		b.WriteString(s.Text)
	}
	return b.String()
}

// Parse reads a record that [Record.Text] wrote.
func Parse(text string) (*Record, error) {
	head, rest, _ := strings.Cut(text, "\n")
	name, ok := strings.CutPrefix(head, "# ")
	if !ok || !isName(name) {
		return nil, errors.New(`record: the first line is not "# " and the name of a model`)
	}
	r := &Record{Model: name}
	for i, part := range strings.Split("\n"+rest, "\n\n## ") {
		if i == 0 {
			if strings.Trim(part, "\n") != "" {
				return nil, errors.New("record: there is text before the first section")
			}
			continue
		}
		name, body, ok := strings.Cut(part, "\n")
		if !ok || name == "" {
			return nil, fmt.Errorf("record: section %d has no name or no text", i)
		}
		if r.section(name) != nil {
			return nil, fmt.Errorf("record: two sections are called %q", name)
		}
		body = strings.TrimRight(body, "\n")
		if as, ok := strings.CutPrefix(body, "= "); ok && !strings.Contains(as, "\n") {
			earlier := r.section(as)
			if earlier == nil {
				return nil, fmt.Errorf("record: section %q is that of %q, which does not stand before it", name, as)
			}
			body = earlier.Text
		}
		r.add(name, body)
	}
	return r, nil
}

// isName reports whether a model's name can be that of a file.
func isName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && (c < '0' || '9' < c) && (c < 'a' || 'z' < c) && (c < 'A' || 'Z' < c)
	})
}

// section returns a section by name, nil if there is none.
func (r *Record) section(name string) *Section {
	for i := range r.Sections {
		if r.Sections[i].Name == name {
			return &r.Sections[i]
		}
	}
	return nil
}
