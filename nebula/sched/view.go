package sched

import (
	"fmt"
	"strings"
	"time"

	"forgekernel/display"
)

// Display shows the snapshot as a table.
func (m Metrics) Display() display.Bundle { return m.table().Display() }

func (m Metrics) table() display.Table {
	t := display.Table{Columns: []display.Column{{Name: "", Align: display.AlignRight}, {Name: ""}}}
	add := func(label, format string, args ...any) {
		t.Rows = append(t.Rows, []any{label, fmt.Sprintf(format, args...)})
	}
	add("requests", "%d running, %d queued", m.Running, m.Queued)
	if len(m.Finished) > 0 {
		add("finished", "%s", m.finished())
	}
	add("generated", "%s, now %.1f/s", display.Count(int(m.Generated), "token"), m.Rate)
	add("prompts", "%s computed, %.0f %% found in the cache", display.Count(int(m.Prompt), "token"), 100*m.KV.HitRate())
	add("steps", "%d of %v", m.Steps, m.StepTime.Round(time.Microsecond))
	add("KV blocks", "%d of %d used, %d of them shared; %d kept, %d free", m.KV.Used, m.KV.Blocks, m.KV.Shared, m.KV.Cached, m.KV.Free)
	add("preemptions", "%d", m.Preemptions)
	if m.Err != nil {
		add("closed", "%v", m.Err)
	}
	return t
}

// finished counts ends by reason, in the order of the reasons.
func (m Metrics) finished() string {
	var list []string
	for reason := range reasons {
		if n := m.Finished[reason]; n > 0 {
			list = append(list, fmt.Sprintf("%d %v", n, reason))
		}
	}
	return strings.Join(list, ", ")
}
