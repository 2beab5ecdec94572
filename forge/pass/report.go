package pass

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

// Rule is one kind of rewrite that a pass makes.
type Rule struct {
	Name string `json:"name"`
	// Exact rules keep every element bit for bit; all NaNs count as equal.
	Exact bool `json:"exact"`
	// Why is the argument that it is exact, or the bound of what it changes.
	Why string `json:"why"`
}

// Action is what a pass did at a site.
type Action string

// Actions.
const (
	Applied  Action = "applied"
	Declined Action = "declined"
)

// Rewrite is one decision of a pass.
type Rewrite struct {
	Pass   string `json:"pass"`
	Rule   string `json:"rule"`
	Exact  bool   `json:"exact"` // of the rule
	Site   string `json:"site"`  // the value that the decision is about: "%y = mul"
	Action Action `json:"action"`
	Reason string `json:"reason"` // one sentence without full stop
	// Values are the values that decided it, such as the second consumer.
	Values []string `json:"values,omitempty"`
	Pos    ir.Pos   `json:"pos"` // where the source defines the site
}

// report collects the decisions of one pass.
type report struct {
	pass     string
	rewrites []Rewrite
}

func (r *report) applied(rule *Rule, site *ir.Value, reason string, values ...*ir.Value) {
	r.add(rule, Applied, site, reason, values)
}

func (r *report) declined(rule *Rule, site *ir.Value, reason string, values ...*ir.Value) {
	r.add(rule, Declined, site, reason, values)
}

func (r *report) add(rule *Rule, action Action, site *ir.Value, reason string, values []*ir.Value) {
	w := Rewrite{Pass: r.pass, Rule: rule.Name, Exact: rule.Exact, Site: siteName(site), Action: action, Reason: reason, Pos: site.Pos()}
	for _, v := range values {
		w.Values = append(w.Values, v.String())
	}
	r.rewrites = append(r.rewrites, w)
}

// siteName is "%y = mul".
func siteName(v *ir.Value) string {
	if v.Def == nil {
		return v.String()
	}
	return fmt.Sprintf("%v = %s", v, v.Def.Op.Name)
}

// mergePos appends the positions of more that list does not hold yet.
func mergePos(list, more []ir.Pos) []ir.Pos {
	for _, p := range more {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}
