// Package pass rewrites graphs. One file holds one pass; the ordered table in
// table.go says which run, in which order and why. Every pass reports per site
// what it did and what it declined, with the reason and the values involved.
//
// A pass works by rules, and each [Rule] says whether it is exact. An exact rule
// removes, shares, moves or groups work and keeps every result bit for bit. A
// bounded one may round differently, within a bound that it derives, but gives
// a finite, infinite or NaN element exactly where the original program does:
// it never hides an overflow, nor makes one. PASSES.md lists passes, rules and the
// reasons for their order.
package pass

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/ir"
)

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
	// After names a pass whose result the graph is: the pipeline starts with
	// the pass that follows it. Empty starts with the first.
	After string
	// Until names the last pass to run; empty runs all that are left.
	Until string
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
	passes, err := opts.passes()
	if err != nil {
		return nil, err
	}
	if err := ir.Verify(g); err != nil {
		return nil, err
	}
	g = g.Clone()
	res := &Result{Graph: g}
	res.snapshot(TraceSnapshot)
	for _, p := range passes {
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
	return res, nil
}

// passes lists what is to run.
func (o Options) passes() ([]Pass, error) {
	index := func(name string) int {
		return slices.IndexFunc(table, func(p Pass) bool { return p.Name == name })
	}
	for _, name := range append(slices.Clone(o.Disable), o.After, o.Until) {
		if name != "" && index(name) < 0 {
			return nil, fmt.Errorf("there is no pass %q; the passes are %s", name, strings.Join(Names(), ", "))
		}
	}
	first, last := index(o.After)+1, len(table)
	if o.Until != "" {
		last = index(o.Until) + 1
	}
	if first > last {
		return nil, fmt.Errorf("the graph is the one after %s, which runs later than %s", o.After, o.Until)
	}
	return slices.DeleteFunc(slices.Clone(table[first:last]), func(p Pass) bool {
		return slices.Contains(o.Disable, p.Name)
	}), nil
}

func (r *Result) snapshot(pass string) {
	r.Snapshots = append(r.Snapshots, Snapshot{Pass: pass, Graph: r.Graph.Clone(), Summary: Summarise(r.Graph)})
}
