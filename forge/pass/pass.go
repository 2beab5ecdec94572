// Package pass rewrites graphs. One file holds one pass; the ordered table in
// table.go says which run, in which order and why. Every pass reports per site
// what it did and what it declined, with the reason and the values involved.
//
// Passes keep results bit for bit: they remove, share and group work but never
// reassociate it.
package pass

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/ir"
)

// Action is what a pass did at a site.
type Action string

// Actions.
const (
	Applied  Action = "applied"
	Declined Action = "declined"
)

// Rewrite is one decision of a pass.
type Rewrite struct {
	Pass   string `json:"pass"`
	Site   string `json:"site"` // the value that the decision is about: "%y = mul"
	Action Action `json:"action"`
	Reason string `json:"reason"` // one sentence without full stop
	// Values are the values that decided it, such as the second consumer.
	Values []string `json:"values,omitempty"`
	Pos    ir.Pos   `json:"pos"` // where the source defines the site
}

// Summary counts a graph.
type Summary struct {
	Nodes     int   `json:"nodes"` // operator nodes, constants excluded
	Constants int   `json:"constants"`
	FLOPs     int64 `json:"flops"`
	Bytes     int64 `json:"bytes"` // memory traffic: unique operand bytes plus result bytes per node
}

// Summarise counts a graph.
func Summarise(g *ir.Graph) Summary {
	cost := g.Cost()
	s := Summary{FLOPs: cost.FLOPs, Bytes: cost.Bytes}
	for _, n := range g.Nodes {
		if n.Op.Class == ir.Constant {
			s.Constants++
		} else {
			s.Nodes++
		}
	}
	return s
}

// TraceSnapshot is the name of the first snapshot, the graph as it was given.
const TraceSnapshot = "trace"

// Snapshot is the graph after a pass.
type Snapshot struct {
	Pass    string
	Graph   *ir.Graph // not to be changed
	Summary Summary
}

// Text is the IR text form, which can be parsed.
func (s Snapshot) Text() string { return s.Graph.String() }

// JSON is the JSON form without the elements of constants.
func (s Snapshot) JSON() ([]byte, error) { return s.Graph.Outline() }

// Options choose what [Run] does.
type Options struct {
	// Disable names passes to leave out.
	Disable []string
	// StopAfter names the last pass to run; empty runs all.
	StopAfter string
}

// Result is the outcome of a pipeline.
type Result struct {
	Graph     *ir.Graph
	Snapshots []Snapshot // "trace", then one per pass
	Rewrites  []Rewrite  // in order of the passes and, within one, of the program
}

// Run applies the passes of the table to a copy of g, which must be valid. The
// graph is verified after every pass; a failure there is a defect of the pass
// and is reported as one.
func Run(g *ir.Graph, opts Options) (*Result, error) {
	for _, name := range append(slices.Clone(opts.Disable), opts.StopAfter) {
		if name != "" && !slices.ContainsFunc(table, func(p Pass) bool { return p.Name == name }) {
			return nil, fmt.Errorf("there is no pass %q; the passes are %s", name, strings.Join(Names(), ", "))
		}
	}
	if err := ir.Verify(g); err != nil {
		return nil, err
	}
	g = g.Clone()
	res := &Result{Graph: g}
	res.snapshot(TraceSnapshot)
	for _, p := range table {
		if !slices.Contains(opts.Disable, p.Name) {
			r := &report{pass: p.Name}
			if err := p.run(g, r); err != nil {
				return nil, fmt.Errorf("pass %s: %w", p.Name, err)
			}
			if err := ir.Verify(g); err != nil {
				return nil, fmt.Errorf("pass %s made an invalid graph: %w", p.Name, err)
			}
			res.Rewrites = append(res.Rewrites, r.rewrites...)
			res.snapshot(p.Name)
		}
		if p.Name == opts.StopAfter {
			break
		}
	}
	return res, nil
}

func (r *Result) snapshot(pass string) {
	r.Snapshots = append(r.Snapshots, Snapshot{Pass: pass, Graph: r.Graph.Clone(), Summary: Summarise(r.Graph)})
}

// report collects the decisions of one pass.
type report struct {
	pass     string
	rewrites []Rewrite
}

func (r *report) applied(site *ir.Value, reason string, values ...*ir.Value) {
	r.add(Applied, site, reason, values)
}

func (r *report) declined(site *ir.Value, reason string, values ...*ir.Value) {
	r.add(Declined, site, reason, values)
}

func (r *report) add(action Action, site *ir.Value, reason string, values []*ir.Value) {
	w := Rewrite{Pass: r.pass, Site: site.String(), Action: action, Reason: reason, Pos: site.Pos()}
	if site.Def != nil {
		w.Site += " = " + site.Def.Op.Name
	}
	for _, v := range values {
		w.Values = append(w.Values, v.String())
	}
	r.rewrites = append(r.rewrites, w)
}

// mergePos appends the positions of more that list does not hold yet.
func mergePos(list, more []ir.Pos) []ir.Pos {
	for _, p := range more {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}
