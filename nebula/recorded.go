package nebula

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/nebula/trace"
)

// Recording is what all ranks of a job did, on one clock.
type Recording struct {
	Job   string
	Ranks trace.Job
}

// Recorded is what the ranks have recorded until now, their latest regions, for jobs
// that were started with [Trace]. It panics with the error; [Job.Record] returns it.
func (j *Job) Recorded() *Recording {
	r, err := j.Record(forge.Context())
	return must("Recorded", r, err)
}

// Record is what the ranks have recorded until now. Each replica has a clock of its
// own.
func (j *Job) Record(ctx context.Context) (*Recording, error) {
	if j.o.Engine.Regions == 0 {
		return nil, j.failed(errUntraced)
	}
	ctx, done := withCell(ctx)
	defer done()
	list := j.running()
	if list == nil {
		return nil, j.failed(ErrClosed)
	}
	out := &Recording{Job: j.o.name}
	for i, r := range list {
		ranks, err := r.Trace(ctx)
		if err != nil {
			return nil, j.failed(reason(ctx, err))
		}
		for at := range ranks {
			ranks[at].Rank += i * j.o.Layout.Ranks()
		}
		out.Ranks = append(out.Ranks, ranks...)
	}
	return out, nil
}

// Chrome is the recording in the Chrome trace event format, for chrome://tracing and
// Perfetto.
func (r *Recording) Chrome() []byte {
	var b bytes.Buffer
	trace.WriteChrome(&b, r.Ranks...) // a buffer takes everything
	return b.Bytes()
}

// Save writes the Chrome trace to a file.
func (r *Recording) Save(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".trace-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := trace.WriteChrome(f, r.Ranks...); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Bubbles lists how long each rank waited for other stages in steady state.
func (r *Recording) Bubbles() display.Table {
	t := display.Table{
		Title:   "Bubbles of the pipeline",
		Columns: []display.Column{{Name: "rank"}, {Name: "stage"}, {Name: "window", Unit: "ms"}, {Name: "busy", Unit: "ms"}, {Name: "bubble", Unit: "%"}},
	}
	for _, b := range trace.Bubbles(r.Ranks) {
		t.Rows = append(t.Rows, []any{b.Rank, b.Stage, float64(b.Window) / 1e6, float64(b.Busy) / 1e6, 100 * b.Share()})
	}
	return t
}

// Display shows the latest steps as a picture and, as text, where the time went.
func (r *Recording) Display() display.Bundle {
	return r.Latest(shownSteps).Ranks.Display()
}

// shownSteps is how many steps a recording shows.
const shownSteps = 4

// Latest is the part of the recording about the latest steps, so many of them.
func (r *Recording) Latest(steps int) *Recording {
	last := uint64(0)
	for _, rank := range r.Ranks {
		for _, g := range rank.Regions {
			last = max(last, g.Step)
		}
	}
	out := &Recording{Job: r.Job, Ranks: slices.Clone(r.Ranks)}
	for i := range out.Ranks {
		at := &out.Ranks[i]
		at.Regions = slices.DeleteFunc(slices.Clone(at.Regions), func(g trace.Region) bool {
			return g.Step == 0 || g.Step+uint64(max(steps, 0)) <= last
		})
	}
	return out
}
