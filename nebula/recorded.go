package nebula

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/nebula/trace"
)

// Recording is what all ranks of a job did, on one clock.
type Recording struct {
	Job   string
	Ranks []trace.Rank
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

// Display shows the latest steps and, if there are stages, their bubbles.
func (r *Recording) Display() display.Bundle {
	b := r.Schedule(shownSteps).Display()
	if len(r.Ranks) > 0 && slices.ContainsFunc(r.Ranks, func(t trace.Rank) bool { return t.Stage > 0 }) {
		b.Data["text/plain"] = fmt.Sprint(b.Data["text/plain"], "\n", r.Bubbles().Text())
	}
	return b
}

// shownSteps is how many steps a recording shows.
const shownSteps = 4

// Schedule is the latest steps of the job as a picture, so many of them.
func (r *Recording) Schedule(steps int) display.Schedule {
	s := display.Schedule{Title: "What the ranks did"}
	first := r.lastStep() - min(uint64(max(steps, 1))-1, r.lastStep())
	for _, rank := range r.Ranks {
		for _, lane := range []trace.Lane{trace.Executor, trace.Sender, trace.Control} {
			at, drawn := len(s.Lanes), len(s.Spans)
			for _, g := range rank.Regions {
				if g.Lane == lane && g.Step >= first && g.Step > 0 {
					s.Spans = append(s.Spans, span(at, rank, g))
				}
			}
			if len(s.Spans) > drawn {
				s.Lanes = append(s.Lanes, fmt.Sprintf("rank %d %s", rank.Rank, lane))
			}
		}
	}
	return s
}

func (r *Recording) lastStep() uint64 {
	var last uint64
	for _, rank := range r.Ranks {
		for _, g := range rank.Regions {
			last = max(last, g.Step)
		}
	}
	return last
}

// classes are the colours of what ranks do.
var classes = map[trace.Kind]display.Class{
	trace.Step: display.ClassContraction, trace.Collective: display.ClassTransfer, trace.Send: display.ClassMovement, trace.Recv: display.ClassReduction,
	trace.Agree: display.ClassInput, trace.Wait: display.ClassConstant, trace.Append: display.ClassState,
	trace.Attention: display.ClassFused, trace.FF: display.ClassElementwise, trace.Projection: display.ClassOutput,
}

// span is a region on the clock of rank 0.
func span(lane int, r trace.Rank, g trace.Region) display.Span {
	label := g.Name
	if g.Kind == trace.Step { // others stand in it
		label = ""
	}
	length := (g.End - g.Start).Round(100 * time.Nanosecond)
	return display.Span{
		Lane: lane, Start: g.Start - r.Offset, End: g.End - r.Offset, Kind: g.Kind.String(), Class: classes[g.Kind], Label: label,
		Tooltip: fmt.Sprintf("rank %d, step %d: %s %s, %v", r.Rank, g.Step, g.Kind, g.Name, length),
		Inner:   g.Lane == trace.Executor && g.Kind != trace.Step,
	}
}
