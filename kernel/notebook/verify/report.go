package verify

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"forgekernel/display"
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

// Print writes the report for a person in lines of width cells: a line for each code cell with its number among
// the cells that run and among all of them, what changed below it, and a line of counts.
func (r *Report) Print(w io.Writer, width int) error {
	b := bufio.NewWriter(w)
	for _, note := range r.Notes {
		wrapped(b, "", "  ", note, width)
	}
	counts := map[Status]int{}
	fmt.Fprintln(b, "code cell  cell  id          outcome")
	for _, c := range r.Cells {
		counts[c.Status]++
		c.print(b, width)
	}
	var parts []string
	for _, s := range []Status{Identical, Within, Changed, Failed, NotRun, Skipped} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	wrapped(b, "", "  ", fmt.Sprintf("%d code cells: %s", len(r.Cells), strings.Join(parts, ", ")), width)
	return b.Flush()
}

func (c *CellReport) print(w io.Writer, width int) {
	number := "-" // it does not run
	if c.Run > 0 {
		number = strconv.Itoa(c.Run)
	}
	head := fmt.Sprintf("%9s  %4d  %-10.10s  %-16s  ", number, c.Index+1, c.ID, c.Status)
	why := cmp.Or(c.Error, c.Reason)
	if runewidth.StringWidth(head+why) <= width {
		fmt.Fprintln(w, strings.TrimRight(head+why, " "))
	} else {
		fmt.Fprintln(w, strings.TrimRight(head, " "))
		wrapped(w, underID, underID, why, width)
	}
	for _, d := range c.Differences {
		d.print(w, width)
	}
}

func (d Difference) print(w io.Writer, width int) {
	text := d.Where
	if d.Detail != "" {
		text += ": " + d.Detail
	}
	wrapped(w, "  ", below, text, width)
	printLines(w, "    - ", d.Want, width)
	printLines(w, "    + ", d.Got, width)
}

// What belongs to the line above is indented, and stands below the ids of cells.
const (
	below   = "    "
	underID = "                 "
)

// wrapped prints a sentence behind a first indent, and below it behind another.
func wrapped(w io.Writer, first, other, text string, width int) {
	for _, line := range display.Wrap(text, width-len(other)) {
		fmt.Fprintln(w, first+line)
		first = other
	}
}

func printLines(w io.Writer, prefix, text string, width int) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(w, "%s%s\n", prefix, runewidth.Truncate(line, max(width-len(prefix), 1), "…"))
	}
}
