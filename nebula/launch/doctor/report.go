package doctor

import (
	"encoding/json"
	"slices"

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

// Display shows the report as a table.
func (r Report) Display() display.Bundle { return r.Table().Display() }
