package backend

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/display"
)

// Listing is the source that a backend generates from a graph, with its kernels told
// apart.
type Listing struct {
	Lang string // "cuda"
	File string // what to call the source: "mlp.cu"
	Code string // all of it, which a compiler takes
	// Kernels are in the order in which they run.
	Kernels []Listed
	// Missing are the nodes that have no kernel, with the reasons: "%1 = cumsum: …".
	Missing []string
	// Most is the largest number of candidates that a node has.
	Most int
}

// Source is all of the text, to be looked at.
func (l *Listing) Source() display.Source {
	return display.Source{Lang: l.Lang, Code: l.Code, Name: l.File}
}

// Sourced is an [Executable] that can show the source of what runs.
type Sourced interface {
	Executable
	Listing() *Listing
}

// Listed is a kernel of a listing.
type Listed struct {
	Value  string // what it computes or helps to compute: "%h"
	Doc    string // the node: "%h: f32[8,16] = linear %x, %w"
	Name   string // of the function
	Launch string // how it is run, one clause
	// First and Last are its lines in the code, counted from 1. Equal kernels of
	// several nodes are the same lines.
	First, Last int
}

// Add appends a kernel whose lines are where text stands in the code, which it does.
func (l *Listing) Add(k Listed, text string) {
	text = strings.Trim(text, "\n")
	at := strings.Index(l.Code, text)
	if at < 0 {
		panic(fmt.Sprintf("backend: the kernel %s is not in the code of %s", k.Name, l.File))
	}
	k.First = 1 + strings.Count(l.Code[:at], "\n")
	k.Last = k.First + strings.Count(text, "\n")
	l.Kernels = append(l.Kernels, k)
}

// Values are the results that have kernels, in order. A kernel that copies has none.
func (l *Listing) Values() []string {
	var list []string
	for _, k := range l.Kernels {
		if k.Value != "" && !slices.Contains(list, k.Value) {
			list = append(list, k.Value)
		}
	}
	return list
}

// Of are the kernels of a value. The error names those that have some.
func (l *Listing) Of(value string) ([]Listed, error) {
	var list []Listed
	for _, k := range l.Kernels {
		if k.Value == value {
			list = append(list, k)
		}
	}
	if list != nil {
		return list, nil
	}
	for _, m := range l.Missing {
		if name, _, _ := strings.Cut(m, " "); name == value {
			return nil, fmt.Errorf("%s has no %s kernel: %s", value, l.Lang, m)
		}
	}
	others := l.Values()
	if others == nil {
		return nil, fmt.Errorf("no kernel computes %s, nor any other value of the program", value)
	}
	return nil, fmt.Errorf("no kernel computes %s; kernels compute %s", value, strings.Join(others, ", "))
}

// Lines is the text of a kernel.
func (l *Listing) Lines(k Listed) string {
	lines := strings.SplitAfter(l.Code, "\n")
	return strings.Join(lines[k.First-1:k.Last], "")
}

// CheckCandidate refuses a candidate that no node has.
func (l *Listing) CheckCandidate(i int) error {
	if i >= l.Most {
		return fmt.Errorf("there is no candidate %d: the nodes have up to %d, counted from 0", i, l.Most)
	}
	return nil
}
