package verify

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Status is the outcome for one cell.
type Status string

// Outcomes.
const (
	Same    Status = "same"
	Differs Status = "differs"
	Ignored Status = "ignored" // its tags say so
	Failed  Status = "failed"
	NotRun  Status = "not run" // an earlier cell failed
)

// Report is the outcome, also as JSON.
type Report struct {
	Same  bool         `json:"same"` // no cell differs, failed or was not reached
	Cells []CellReport `json:"cells"`
}

// CellReport is the outcome of one code cell.
type CellReport struct {
	Index       int          `json:"index"` // of the cell in the notebook, from 0
	ID          string       `json:"id"`
	Status      Status       `json:"status"`
	Error       string       `json:"error,omitempty"`
	Reason      string       `json:"reason,omitempty"` // why it is ignored
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is one place where stored and new output differ.
type Difference struct {
	Where  string `json:"where"` // "stdout, line 3", "output 2, image/png"
	Detail string `json:"detail,omitempty"`
	Want   string `json:"want,omitempty"` // as stored
	Got    string `json:"got,omitempty"`  // as run
}

func (r *Report) add(c CellReport) {
	r.Cells = append(r.Cells, c)
	if c.Status != Same && c.Status != Ignored {
		r.Same = false
	}
}

// Print writes the report for a person: the cells that are not the same, those
// that were ignored and why, and a line of counts.
func (r *Report) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	counts := map[Status]int{}
	for _, c := range r.Cells {
		counts[c.Status]++
		switch c.Status {
		case Same:
			continue
		case Ignored:
			fmt.Fprintf(b, "cell %d (%s): %s, %s\n", c.Index+1, c.ID, c.Status, c.Reason)
			continue
		}
		fmt.Fprintf(b, "cell %d (%s): %s\n", c.Index+1, c.ID, c.Status)
		if c.Error != "" {
			fmt.Fprintf(b, "  %s\n", c.Error)
		}
		for _, d := range c.Differences {
			d.print(b)
		}
	}
	var parts []string
	for _, s := range []Status{Same, Differs, Failed, NotRun, Ignored} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	fmt.Fprintf(b, "%d code cells: %s\n", len(r.Cells), strings.Join(parts, ", "))
	return b.Flush()
}

func (d Difference) print(w io.Writer) {
	fmt.Fprintf(w, "  %s", d.Where)
	if d.Detail != "" {
		fmt.Fprintf(w, ": %s", d.Detail)
	}
	fmt.Fprintln(w)
	printLines(w, "    - ", d.Want)
	printLines(w, "    + ", d.Got)
}

// lineWidth is how much of a line Print shows, in columns.
const lineWidth = 160

func printLines(w io.Writer, prefix, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(w, "%s%s\n", prefix, runewidth.Truncate(line, lineWidth, "…"))
	}
}
