// Package pass rewrites graphs. One file holds one pass; the ordered table in
// table.go says which run, in which order and why. Every pass reports per site
// what it did and what it declined, with the reason and the values involved.
package pass

import (
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
	Pass   string   `json:"pass"`
	Site   string   `json:"site"` // the value that the decision is about: "%y = mul"
	Action Action   `json:"action"`
	Reason string   `json:"reason"`           // one sentence
	Values []string `json:"values,omitempty"` // the values that decided it, "%x"
	Pos    ir.Pos   `json:"pos"`              // the site's position in the source
}

// Summary counts a graph.
type Summary struct {
	Nodes int   `json:"nodes"`
	FLOPs int64 `json:"flops"`
	Bytes int64 `json:"bytes"` // memory traffic: unique operand bytes plus result bytes
}

// Snapshot is the graph after a pass; the first one, "trace", is the input.
type Snapshot struct {
	Pass    string
	Graph   *ir.Graph
	Summary Summary
}

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
	Snapshots []Snapshot
	Rewrites  []Rewrite
}
