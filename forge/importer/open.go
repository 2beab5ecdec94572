package importer

import (
	"fmt"
	"slices"
	"strings"
)

// OpenError says what a binding leaves open: all of it at once.
type OpenError struct {
	Open []Open
}

// Open is a dimension of an input that has no length yet.
type Open struct {
	Input Input
	Dim   int // -1 for all, of an input without a rank
}

func (o Open) String() string {
	if o.Dim < 0 {
		return fmt.Sprintf("input %v: give its shape", o.Input)
	}
	return fmt.Sprintf("input %v: dimension %d, %v, is open: bind it or give the shape", o.Input, o.Dim, o.Input.Dims[o.Dim])
}

func (e *OpenError) Error() string {
	texts := make([]string, len(e.Open))
	for i, o := range e.Open {
		texts[i] = o.String()
	}
	return strings.Join(texts, "\n")
}

// Symbols are the names of the open dimensions, each once.
func (e *OpenError) Symbols() []string {
	var list []string
	for _, o := range e.Open {
		if o.Dim >= 0 {
			if name := o.Input.Dims[o.Dim].Symbol; name != "" && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// Unnamed are the inputs with open dimensions that have no name, or with no rank.
func (e *OpenError) Unnamed() []Input {
	var list []Input
	for _, o := range e.Open {
		named := o.Dim >= 0 && o.Input.Dims[o.Dim].Symbol != ""
		if !named && !slices.ContainsFunc(list, func(in Input) bool { return in.Name == o.Input.Name }) {
			list = append(list, o.Input)
		}
	}
	return list
}
