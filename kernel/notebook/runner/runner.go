// Package runner executes notebooks on a kernel.
//
// Outputs are merged into the cells as nbclient does it: text of one stream is
// joined, update_display_data replaces what was shown under its display id in
// any cell, clear_output clears, at once or before the next output.
package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"forgekernel/forge/capture"
	"forgekernel/kernel/client"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/wire"
)

// Tags of cells that the runner knows.
const (
	TagParameters      = "parameters"          // defines variables that Params may set
	TagInjected        = "injected-parameters" // was made from Params; replaced by the next run
	TagRaisesException = "raises-exception"    // may fail
)

// startLimit is how long a kernel may take to be ready.
const startLimit = time.Minute

// interruptGrace is how long a cell has to end after it was interrupted,
// before the kernel is taken to hang.
const interruptGrace = 10 * time.Second

// Options say how to run a notebook.
type Options struct {
	Kernel client.Command
	// CellTimeout bounds each cell; a cell that exceeds it is interrupted and
	// the run fails. 0 is no bound.
	CellTimeout time.Duration
	// Params are values for the variables of the cell tagged "parameters", as
	// they would be written there; quotes around strings may be left out.
	Params map[string]string
	// AllowErrors goes on after a cell that fails. A cell tagged
	// "raises-exception" may always fail.
	AllowErrors bool
	// Observer is told what happens; nil means nobody is.
	Observer Observer
	// Environment is where the notebook runs, for its record; nil if that is unknown.
	Environment *capture.Environment
}

// Observer watches a run. Its methods are called one at a time; index is that
// of the cell in the notebook.
type Observer interface {
	Begin(index int, c *notebook.Cell)
	// Output brings an output as it arrived. A stream output is the new text
	// alone. Any other is the one that stands in the cell; with update its
	// content has changed since it was first brought.
	Output(index int, o *notebook.Output, update bool)
	// Clear follows the removal of all outputs of the cell.
	Clear(index int)
	// Page is text for a pager, such as what name? asks for. A notebook has no
	// place for it.
	Page(index int, text string)
	// End follows the last output of a cell. err is nil, *CellError,
	// *TimeoutError or what happened to the kernel.
	End(index int, c *notebook.Cell, took time.Duration, err error)
}

// Silent is an Observer that does nothing.
type Silent struct{}

// Begin does nothing.
func (Silent) Begin(int, *notebook.Cell) {}

// Output does nothing.
func (Silent) Output(int, *notebook.Output, bool) {}

// Clear does nothing.
func (Silent) Clear(int) {}

// Page does nothing.
func (Silent) Page(int, string) {}

// End does nothing.
func (Silent) End(int, *notebook.Cell, time.Duration, error) {}

// CellError is a cell that failed.
type CellError struct {
	Place     notebook.Place
	Name      string
	Value     string
	Traceback []string
}

// Error names the cell and the failure.
func (e *CellError) Error() string {
	return fmt.Sprintf("%v: %s: %s", e.Place, e.Name, e.Value)
}

// TimeoutError is a cell that did not end in time.
type TimeoutError struct {
	Place notebook.Place
	Limit time.Duration
	Hung  bool // it did not end when it was interrupted either
}

// Error names the cell and the limit.
func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("%v: still running after %v", e.Place, e.Limit)
	if e.Hung {
		return s + ", and an interrupt did not stop it"
	}
	return s + "; interrupted"
}

// StartError is a kernel that did not start. The notebook's outputs are then
// as they were.
type StartError struct{ Err error }

// Error is the reason.
func (e *StartError) Error() string { return "starting the kernel: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// Run executes the code cells of nb in order and stores in it what they show,
// as far as it gets: after an error other than *ParamsError and *StartError, nb
// is a partial result, fit to be written. All outputs of earlier runs are
// removed first. Run ends the kernel.
func Run(ctx context.Context, nb *notebook.Notebook, opts Options) (err error) {
	if err := inject(nb, opts.Params); err != nil {
		return err
	}
	r := &run{nb: nb, opts: opts, shown: map[string][]*notebook.Output{}}
	if r.opts.Observer == nil {
		r.opts.Observer = Silent{}
	}
	record := newRecord(opts)
	if err := r.start(ctx); err != nil {
		return &StartError{err}
	}
	defer func() {
		err = errors.Join(err, r.stop(err))
		err = errors.Join(err, record.end(nb, err))
	}()
	for _, c := range nb.Cells {
		c.ClearOutputs()
	}
	if err := record.kernel(nb, r.kernel.Info()); err != nil {
		return err
	}
	for i, c := range nb.Cells {
		if !c.Runs() {
			continue
		}
		if err := r.cell(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// run is a run in progress.
type run struct {
	nb     *notebook.Notebook
	opts   Options
	kernel *client.Client
	clock  clock

	index        int              // of the running cell
	stream       *notebook.Output // its last output, if that is a stream
	text         strings.Builder  // of stream
	clearPending bool
	shown        map[string][]*notebook.Output // by display id
}

// place is that of the running cell.
func (r *run) place() notebook.Place { return r.nb.Place(r.index) }

func (r *run) start(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var err error
	r.kernel, err = client.Start(limited, r.opts.Kernel, client.Options{Trace: r.clock.see})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return fmt.Errorf("it was not ready within %v", startLimit)
	}
	return err
}

// stop ends the kernel, politely if it still listens.
func (r *run) stop(failure error) error {
	var timeout *TimeoutError
	if errors.Is(failure, client.ErrDead) || errors.As(failure, &timeout) && timeout.Hung {
		return r.kernel.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), interruptGrace)
	defer cancel()
	if err := r.kernel.Shutdown(ctx, false); err != nil {
		return errors.Join(fmt.Errorf("ending the kernel: %w", err), r.kernel.Close())
	}
	return r.kernel.Close()
}

// cell runs one cell. Its error is nil also for a failure that is allowed.
func (r *run) cell(ctx context.Context, index int) error {
	c := r.nb.Cells[index]
	r.index, r.clearPending = index, false
	allowed := r.opts.AllowErrors || c.HasTag(TagRaisesException)
	r.opts.Observer.Begin(index, c)
	start := time.Now()
	err := r.execute(ctx, c, allowed)
	r.endStream()
	if times := r.clock.read(); len(times) > 0 {
		if c.Metadata == nil {
			c.Metadata = map[string]any{}
		}
		c.Metadata["execution"] = times
	}
	r.opts.Observer.End(index, c, time.Since(start), err)
	if cellErr := (*CellError)(nil); allowed && errors.As(err, &cellErr) {
		return nil
	}
	return err
}

func (r *run) execute(ctx context.Context, c *notebook.Cell, allowed bool) error {
	r.clock.reset()
	limited, cancel := ctx, context.CancelFunc(func() {})
	if r.opts.CellTimeout > 0 {
		limited, cancel = context.WithTimeout(ctx, r.opts.CellTimeout)
	}
	defer cancel()
	// Outputs are still wanted after ctx ended, until the interrupt takes effect.
	open, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	e, err := r.kernel.Execute(open, c.Source, client.ExecuteOptions{ContinueOnError: allowed})
	if err != nil {
		return r.explain(err)
	}
	switch err := r.collect(limited, e); {
	case err != nil && limited.Err() != nil:
		return r.interrupt(ctx, e)
	case err != nil:
		return err
	}
	grace, cancelGrace := context.WithTimeout(open, interruptGrace)
	defer cancelGrace()
	reply, err := e.Reply(grace)
	if err != nil {
		return r.explain(err)
	}
	if reply.ExecutionCount > 0 {
		c.ExecutionCount = reply.ExecutionCount
	}
	for _, p := range reply.Payload {
		r.page(p)
	}
	if reply.Status != wire.StatusOK {
		return &CellError{r.place(), reply.Name, reply.Value, reply.Traceback}
	}
	return nil
}

// page passes on a payload of the reply that is for a pager.
func (r *run) page(payload wire.Object) {
	if payload["source"] != "page" {
		return
	}
	data, _ := payload["data"].(map[string]any)
	if text, ok := data["text/plain"].(string); ok {
		r.opts.Observer.Page(r.index, text)
	}
}

// collect merges outputs until the cell is idle, the kernel died or ctx ends.
func (r *run) collect(ctx context.Context, e *client.Execution) error {
	for {
		select {
		case m, ok := <-e.Outputs():
			if !ok {
				return nil
			}
			if err := r.message(m); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// interrupt stops a cell that has run too long, or that nobody waits for any
// more, and keeps what it still shows.
func (r *run) interrupt(ctx context.Context, e *client.Execution) error {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptGrace)
	defer cancel()
	err := r.kernel.Interrupt(grace)
	if err == nil {
		err = r.collect(grace, e)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%v: %w", r.place(), context.Cause(ctx))
	}
	return &TimeoutError{Place: r.place(), Limit: r.opts.CellTimeout, Hung: err != nil}
}

// explain turns the failure of a request into that of the cell. A kernel that
// died leaves a note in the cell, since it could not do so itself.
func (r *run) explain(err error) error {
	if errors.Is(err, client.ErrDead) {
		r.append(&notebook.Output{
			Type: notebook.Error, ErrorName: "DeadKernel", ErrorValue: err.Error(),
			Traceback: []string{"DeadKernel: " + err.Error()},
		})
	}
	return fmt.Errorf("%v: %w", r.place(), err)
}
