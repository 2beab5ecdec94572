package tuning

import (
	"fmt"
	"strings"

	"forgekernel/display"
	"forgekernel/display/chart"
)

// ReasonPrefix begins the reasons of picks by measurements.
const ReasonPrefix = "tuned: "

// Reason says in one clause why a candidate was picked: by how much it won, and what
// became of the others.
func (n *Node) Reason() string {
	pick := &n.Candidates[n.Pick()]
	if pick.Median() == 0 {
		return "untuned: " + n.Note
	}
	parts := []string{fmt.Sprintf(ReasonPrefix+"%s of %d candidates", micro(pick.Median()), len(n.Candidates))}
	next := 0.0
	rejected := 0
	for i := range n.Candidates {
		c := &n.Candidates[i]
		if m := c.Median(); c != pick && m > 0 && (next == 0 || m < next) {
			next = m
		}
		if c.Verdict == Rejected {
			rejected++
		}
	}
	if next > 0 {
		parts = append(parts, fmt.Sprintf("the next takes %s", excess(next, pick.Median())))
	}
	if own := &n.Candidates[0]; own != pick {
		text := "was rejected"
		if own.Median() > 0 {
			text = "takes " + excess(own.Median(), pick.Median())
		}
		parts = append(parts, fmt.Sprintf("%s %s", own.Name, text))
	}
	if rejected > 0 {
		parts = append(parts, fmt.Sprintf("%d rejected", rejected))
	}
	return strings.Join(append(parts, n.Absent...), "; ")
}

// excess is how much longer a time is than another.
func excess(t, than float64) string { return fmt.Sprintf("%+.1f %%", 100*(t/than-1)) }

func micro(seconds float64) string { return fmt.Sprintf("%.4g µs", seconds*1e6) }

// Text is a table for each node.
func (r *Record) Text() string {
	var b strings.Builder
	for i := range r.Nodes {
		b.WriteString(r.Nodes[i].Table().Text() + "\n")
	}
	return b.String()
}

// Display shows the samples and the candidates of every node.
func (r *Record) Display() display.Bundle {
	var page strings.Builder
	if image, err := r.Chart().HTML(); err == nil {
		page.WriteString(image + "\n")
	}
	for i := range r.Nodes {
		if text, is := r.Nodes[i].Table().Display().Data["text/html"].(string); is {
			page.WriteString(text)
		}
	}
	return display.Bundle{Data: map[string]any{"text/html": page.String(), "text/plain": r.Text()}}
}

// Table says what became of each candidate.
func (n *Node) Table() display.Table {
	t := display.Table{
		Title: fmt.Sprintf("%s, for %s", n.Shape, strings.Join(n.Values, ", ")),
		Columns: []display.Column{
			{Name: "candidate"}, {Name: "time", Unit: "µs"}, {Name: "", Unit: "TFLOP/s"}, {Name: "", Unit: "GB/s"},
			{Name: "against the pick", Align: display.AlignRight}, {Name: "error", Unit: "of the bound"}, {Name: "verdict"},
		},
	}
	pick := n.Candidates[n.Pick()].Median()
	for i := range n.Candidates {
		c := &n.Candidates[i]
		row := []any{c.Name, nil, nil, nil, nil, nil, string(c.Verdict)}
		if m := c.Median(); m > 0 {
			row[1], row[2], row[3], row[4] = m*1e6, float64(n.FLOPs)/m*1e-12, float64(n.Bytes)/m*1e-9, excess(m, pick)
		}
		if c.Gate != nil {
			row[5] = c.Gate.Worst
		}
		if c.Error != "" {
			row[6] = fmt.Sprintf("%s: %s", c.Verdict, c.Error)
		}
		t.Rows = append(t.Rows, row)
	}
	for _, why := range append(n.Absent[:len(n.Absent):len(n.Absent)], n.Note) {
		if why != "" {
			t.Rows = append(t.Rows, []any{why})
		}
	}
	return t
}

// Chart draws the samples of each node's candidates.
func (r *Record) Chart() chart.Figure {
	colours := map[Verdict]chart.Colour{Chosen: chart.Good, Tie: chart.Close, Slower: chart.Plain, Rejected: chart.Bad, Unmeasured: chart.Plain}
	var list []chart.Match
	for i := range r.Nodes {
		n := &r.Nodes[i]
		pick := n.Candidates[n.Pick()].Median()
		if pick == 0 {
			continue
		}
		m := chart.Match{Title: n.Shape}
		for _, c := range n.Candidates {
			row := chart.Candidate{Name: c.Name, Note: string(c.Verdict), Times: c.Samples, Colour: colours[c.Verdict]}
			if t := c.Median(); t > 0 && c.Verdict != Chosen {
				row.Note = excess(t, pick) + " " + row.Note
			}
			m.Candidates = append(m.Candidates, row)
		}
		list = append(list, m)
	}
	return chart.Contest("Samples of the candidates of "+r.Program, r.Text(), list...)
}
