package doctor

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"forgekernel/display"
)

// Schema is the version of a report's JSON. It changes when a field changes its
// meaning or goes; findings may come and go without.
const Schema = 1

// Report is what was found on a host.
type Report struct {
	Schema   int       `json:"schema"`
	Findings []Finding `json:"findings"`
}

// State is the worst of the findings.
func (r Report) State() State {
	worst := OK
	for _, f := range r.Findings {
		if order := []State{OK, Warn, Fail}; slices.Index(order, f.State) > slices.Index(order, worst) {
			worst = f.State
		}
	}
	return worst
}

// MarshalJSON adds the state of the whole.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report // without this method
	return json.Marshal(struct {
		Schema int   `json:"schema"`
		State  State `json:"state"`
		plain
	}{r.Schema, r.State(), plain(r)})
}

// Table has one row for each finding.
func (r Report) Table() display.Table {
	t := display.Table{Columns: []display.Column{{Name: "what"}, {Name: "state"}, {Name: "found"}, {Name: "what to do"}}}
	for _, f := range r.Findings {
		t.Rows = append(t.Rows, []any{f.What, string(f.State), f.Found, f.Fix})
	}
	return t
}

// colours of states on a terminal.
var colours = map[State]string{OK: "\x1b[32m", Warn: "\x1b[33m", Fail: "\x1b[31m"}

// Text is the report for a terminal: a line for each finding, and one for each
// thing to do.
func (r Report) Text(colour bool) string { return r.TextWithin(math.MaxInt, colour) }

// leastRoom is for what was found, however narrow the terminal.
const leastRoom = 20

// TextWithin is Text in lines of width cells.
func (r Report) TextWithin(width int, colour bool) string {
	named := 0
	for _, f := range r.Findings {
		named = max(named, len(f.What))
	}
	room := max(width-named-8, leastRoom)
	var b strings.Builder
	for _, f := range r.Findings {
		head := fmt.Sprintf("%-4s", f.State)
		if colour {
			head = colours[f.State] + head + "\x1b[0m"
		}
		head += fmt.Sprintf("  %-*s  ", named, f.What)
		below := strings.Repeat(" ", named+8)
		for _, line := range display.Wrap(f.Found, room) {
			fmt.Fprintln(&b, strings.TrimRight(head+line, " "))
			head = below
		}
		if f.Fix == "" {
			continue
		}
		head = below + "-> "
		for _, line := range display.Wrap(f.Fix, room-3) {
			fmt.Fprintln(&b, head+line)
			head = below + "   "
		}
	}
	return b.String()
}

// Display shows the report as a table, and as lines where there is only text.
func (r Report) Display() display.Bundle {
	b := r.Table().Display()
	b.Data["text/plain"] = r.Text(false)
	return b
}
