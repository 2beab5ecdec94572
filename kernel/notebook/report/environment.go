package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/kernel/notebook/runner"
)

// environment is that of the run, with what only measurements find out.
func environment(r *runner.Record, found []measurement) display.Table {
	e := *where(r, found)
	for _, m := range found {
		e.NVRTC = cmp.Or(e.NVRTC, m.capture.Environment.NVRTC)
		e.Limits = cmp.Or(e.Limits, m.capture.Environment.Limits)
	}
	return e.Table()
}

func measurements(found []measurement) string {
	if len(found) == 0 {
		return "No output holds a capture of a measurement.\n"
	}
	text := "Each capture proved itself when this page was made: its content has the hash that it carries, every number follows from its samples, and what cells show of it was drawn from it again, but for charts of their own making.\n\n"
	for _, m := range found {
		var programs, candidates []string
		for _, w := range m.capture.Workloads {
			programs = append(programs, w.Name)
		}
		for _, s := range m.capture.Workloads[0].Series {
			candidates = append(candidates, s.Label.String())
		}
		text += table(fields(
			[2]string{"cells", fmt.Sprint("In ", m.cells)},
			[2]string{"programs", strings.Join(programs, ", ")},
			[2]string{"candidates", strings.Join(candidates, "; ")},
			[2]string{"samples", m.capture.Settings.String()},
			[2]string{"taken", m.capture.Taken.Format("2006-01-02 15:04:05 MST")},
			[2]string{"capture", m.capture.ID},
			[2]string{"SHA-256", m.hash},
		)) + "\n\n"
	}
	return text
}

func libraries(r *runner.Record, found []measurement) string {
	e := where(r, found)
	if len(e.Libraries) == 0 {
		return "The program does not say.\n"
	}
	t := display.Table{Columns: []display.Column{{Name: "module"}, {Name: "version"}}}
	for _, path := range slices.Sorted(maps.Keys(e.Libraries)) {
		t.Rows = append(t.Rows, []any{path, e.Libraries[path]})
	}
	return "<details><summary>the modules of the program</summary>\n\n" + table(t) + "\n\n</details>\n"
}
