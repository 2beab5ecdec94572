// Package runner executes notebooks on a kernel.
//
// Outputs are merged into the cells as nbclient does it: text of one stream is
// joined, update_display_data replaces what was shown under its display id in
// any cell, clear_output clears, at once or before the next output.
package runner

import (
	"context"
	"time"

	"forgekernel/kernel/client"
	"forgekernel/kernel/notebook"
)

// Options say how to run a notebook.
type Options struct {
	Kernel client.Command
	// CellTimeout bounds each cell; it is interrupted and the run fails.
	// 0 is no bound.
	CellTimeout time.Duration
	// Params are values for the variables of the cell tagged "parameters", as
	// they would be written there; quotes around strings may be left out.
	Params map[string]string
	// AllowErrors goes on after a cell that fails. A cell tagged
	// "raises-exception" may always fail.
	AllowErrors bool
	// Observer is told what happens; nil means nobody is.
	Observer Observer
}

// Observer watches a run. Its methods are called one at a time; index is that
// of the cell in the notebook.
type Observer interface {
	Begin(index int, c *notebook.Cell)
	// Output brings an output as it arrived, before it was merged; update means
	// that it replaces one that was shown before.
	Output(index int, o *notebook.Output, update bool)
	Clear(index int, wait bool)
	// End follows the last output of a cell. err is nil, *CellError,
	// *TimeoutError or what happened to the kernel.
	End(index int, c *notebook.Cell, took time.Duration, err error)
}

// Run executes the code cells of nb in order and stores in it what they show,
// as far as it gets: after an error nb is a partial result that can be written.
func Run(ctx context.Context, nb *notebook.Notebook, opts Options) error {
	return nil
}
