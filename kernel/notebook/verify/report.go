package verify

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"forgekernel/forge/capture"
	"forgekernel/kernel/notebook"
)

// Status is the outcome for one cell.
type Status string

// Outcomes.
const (
	Identical Status = "identical"
	Within    Status = "within tolerance"
	Changed   Status = "changed"
	Skipped   Status = "skipped" // for a reason
	Failed    Status = "failed"
	NotRun    Status = "not run" // an earlier cell failed
)

// Report is the outcome, also as JSON.
type Report struct {
	Verified bool         `json:"verified"`        // no cell changed, failed or was not reached
	Notes    []string     `json:"notes,omitempty"` // what differs between the runs as a whole
	Cells    []CellReport `json:"cells"`

	Fresh *notebook.Notebook `json:"-"` // as run now; nil when nothing was
}

// CellReport is the outcome of one code cell.
type CellReport struct {
	Index       int          `json:"index"`               // of the cell in the notebook, from 0
	Run         int          `json:"code_cell,omitempty"` // among the cells that run, from 1; 0 for one that does not
	ID          string       `json:"id"`
	Status      Status       `json:"status"`
	Error       string       `json:"error,omitempty"`
	Reason      string       `json:"reason,omitempty"` // why it is skipped, or what the tolerance was for
	Differences []Difference `json:"differences,omitempty"`
	// Measured compares the intervals of measurements.
	Measured []capture.AgreementRow `json:"measured,omitempty"`
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
	switch c.Status {
	case Changed, Failed, NotRun:
		r.Verified = false
	}
}

// Print writes the report for a person: a line for each code cell with its number among
// the cells that run and among all of them, what changed below it, and a line of counts.
func (r *Report) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, note := range r.Notes {
		fmt.Fprintln(b, note)
	}
	counts := map[Status]int{}
	fmt.Fprintln(b, "code cell  cell  id          outcome")
	for _, c := range r.Cells {
		counts[c.Status]++
		c.print(b)
	}
	var parts []string
	for _, s := range []Status{Identical, Within, Changed, Failed, NotRun, Skipped} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	fmt.Fprintf(b, "%d code cells: %s\n", len(r.Cells), strings.Join(parts, ", "))
	return b.Flush()
}

func (c *CellReport) print(w io.Writer) {
	number := "-" // it does not run
	if c.Run > 0 {
		number = strconv.Itoa(c.Run)
	}
	line := fmt.Sprintf("%9s  %4d  %-10.10s  %-16s  %s", number, c.Index+1, c.ID, c.Status, cmp.Or(c.Error, c.Reason))
	fmt.Fprintln(w, strings.TrimRight(line, " "))
	for _, d := range c.Differences {
		d.print(w)
	}
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
