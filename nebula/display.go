package nebula

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"forgekernel/display"
	"forgekernel/nebula/launch"
)

// Display shows the status of the job.
func (j *Job) Display() display.Bundle { return j.Status().Display() }

// String tells which job it is.
func (j *Job) String() string {
	name := ""
	if j.o.name != "" {
		name = j.o.name + " "
	}
	return fmt.Sprintf("job %sof %s on %v, %s of %s", name, j.model.Name(), j.o.Layout, display.Count(j.Ranks(), "rank"), display.Count(j.o.Spec.Threads, "thread"))
}

// String is the first line of the status.
func (s Status) String() string {
	name := "Job"
	if s.Job != "" {
		name += " " + s.Job
	}
	return fmt.Sprintf("%s: %s on %s, %s of %s", name, s.Model, s.Layout, display.Count(len(s.Ranks), "rank"), display.Count(s.Threads, "thread"))
}

// Display shows what the job does, and each rank.
func (s Status) Display() display.Bundle {
	facts := display.Table{Title: s.String(), Columns: []display.Column{{Align: display.AlignRight}, {}}, Rows: s.facts()}
	ranks := display.Table{
		Columns: []display.Column{
			{Name: "rank"}, {Name: "stage"}, {Name: "TP"}, {Name: "process"}, {Name: "state"}, {Name: "step"}, {Name: "last collective"}, {Name: "seen", Align: display.AlignRight},
			{Name: "cache used", Align: display.AlignRight}, {Name: "planned", Align: display.AlignRight}, {Name: "held", Align: display.AlignRight},
		},
	}
	ended := false
	for _, r := range s.Ranks {
		ended = ended || r.Exit != nil
	}
	if ended {
		ranks.Columns = append(ranks.Columns, display.Column{Name: "end"})
	}
	for _, r := range s.Ranks {
		ranks.Rows = append(ranks.Rows, r.row(ended))
	}
	return stacked(facts, ranks)
}

// facts are about the job as a whole.
func (s Status) facts() [][]any {
	rows := [][]any{{"state", s.State}}
	if s.Steps > 0 || s.State == "healthy" { // ranks that are gone tell nothing
		rows = append(rows, s.work()...)
	}
	if s.Err != nil {
		rows = append(rows, []any{"cause", s.Err.Error()})
	}
	if s.State != "healthy" {
		rows = append(rows, []any{"again", "nebula.Launch starts it again"})
	}
	return rows
}

// work is what the job does and has done.
func (s Status) work() [][]any {
	steps := fmt.Sprint(s.Steps)
	if s.StepTime > 0 {
		steps += ", the median of the last ones " + brief(s.StepTime)
	}
	return [][]any{
		{"requests", fmt.Sprintf("%d running, %d queued", s.Running, s.Queued)},
		{"tokens", fmt.Sprintf("%.3g a second; %d generated, %d of prompts", s.Rate, s.Generated, s.Prompt)},
		{"steps", steps},
		{"cache", fmt.Sprintf("%d of %d blocks of %d tokens used, %d of them shared; %d kept for later, %d free",
			s.KV.Used, s.KV.Blocks, s.KV.BlockSize, s.KV.Shared, s.KV.Cached, s.KV.Free)},
	}
}

func (r RankStatus) row(ended bool) []any {
	seen := ""
	if !r.Seen.IsZero() {
		seen = unbroken(brief(time.Since(r.Seen).Round(time.Millisecond)) + " ago")
	}
	var process any
	if r.PID > 0 {
		process = r.PID
	}
	var step any
	if r.State != "gone" {
		step = r.Step
	}
	row := []any{r.Rank, r.Stage, r.TPRank, process, r.State, step, r.Last, seen,
		size(r.KVUsed), size(r.KVPlanned), held(r.KVHeld)}
	if ended {
		end := ""
		if r.Exit != nil {
			end = r.end()
		}
		row = append(row, end)
	}
	return row
}

// end is how the process of a rank has ended. What it said is the cause of the job, or
// follows from it.
func (r RankStatus) end() string {
	var exit launch.Exit
	if errors.As(r.Exit, &exit) {
		return unbroken(exit.Status())
	}
	return r.Exit.Error()
}

func held(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return size(bytes)
}

func size(bytes int64) string { return unbroken(display.FormatBytes(bytes)) }

// unbroken is text that stays on one line in a narrow cell.
func unbroken(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }

// stacked shows things below one another.
func stacked(list ...display.Displayer) display.Bundle {
	var page, plain strings.Builder
	for _, d := range list {
		b := d.Display()
		h, _ := b.Data["text/html"].(string)
		t, _ := b.Data["text/plain"].(string)
		page.WriteString(h)
		plain.WriteString(strings.TrimRight(t, "\n") + "\n")
	}
	return display.Bundle{Data: map[string]any{"text/html": page.String(), "text/plain": plain.String()}}
}
