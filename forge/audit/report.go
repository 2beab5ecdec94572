package audit

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Version is the version of [Report]'s JSON form. A field may be added within a
// version; a change of meaning makes a new one.
const Version = 1

// Report is the outcome of an audit. Its JSON form holds no values of tensors
// but the one element of the origin.
type Report struct {
	Format  string   `json:"format"` // "forge.audit"
	Version int      `json:"version"`
	Program string   `json:"program"`
	Budget  float64  `json:"budget"`
	Rows    []Row    `json:"rows"`    // a row per result of a node, in program order
	Outputs []Output `json:"outputs"` // of the program
	// First is the index in Rows of the first node over budget; -1 for none.
	First int `json:"first"`
	// Origin is where the first NaN or infinity comes from; nil when there is
	// none, or when the inputs bring it.
	Origin *Origin `json:"origin,omitempty"`
}

// Row is one value of the program.
type Row struct {
	Value       string `json:"value"` // "%y"
	Op          string `json:"op"`
	Spec        string `json:"spec"`             // "f32[8,16]"
	Source      string `json:"source,omitempty"` // "mlp.fs:2:12"
	Accumulated Error  `json:"accumulated"`
	Own         Error  `json:"own"`
	Over        bool   `json:"over"` // the accumulated error exceeds the budget
}

// Output is a result of the program.
type Output struct {
	Value     string    `json:"value"`
	Spec      string    `json:"spec"`
	Error     Error     `json:"error"`
	Histogram Histogram `json:"histogram"`
}

// Histogram counts the elements of a value by their error in units in the last
// place.
type Histogram struct {
	// Bins counts errors up to 0, 1/2, 1, 2, 4, … units; the last bin all that
	// are larger.
	Bins []Bin `json:"bins"`
	Lost int   `json:"lost"`
	Both int   `json:"both"` // elements that are the same NaN or infinity in float64
}

// Bin counts the elements whose error is above that of the bin before and at
// most Up.
type Bin struct {
	Up    tensor.Number `json:"up"`
	Count int           `json:"count"`
}

func newReport(g *ir.Graph, budget float64) *Report {
	return &Report{Format: "forge.audit", Version: Version, Program: g.Name, Budget: budget, Rows: []Row{}, First: -1}
}

func (r *Report) row(v *ir.Value, accumulated, own Error) {
	over := !(float64(accumulated.Relative) <= r.Budget)
	if over && r.First < 0 {
		r.First = len(r.Rows)
	}
	r.Rows = append(r.Rows, Row{
		Value: v.String(), Op: v.Def.Op.Name, Spec: v.Spec.String(), Source: v.Pos().String(),
		Accumulated: accumulated, Own: own, Over: over,
	})
}

func (r *Report) output(v *ir.Value, p pair) {
	r.Outputs = append(r.Outputs, Output{Value: v.String(), Spec: v.Spec.String(), Error: measure(p), Histogram: histogram(p)})
}

// OK reports whether every node stays within the budget.
func (r *Report) OK() bool { return r.First < 0 }

// histogramLimit is the largest error in units that has a bin of its own.
const histogramLimit = 1 << 20

func histogram(p pair) Histogram {
	h := Histogram{Bins: []Bin{{Up: 0}}}
	for up := 0.5; up <= histogramLimit; up *= 2 {
		h.Bins = append(h.Bins, Bin{Up: tensor.Number(up)})
	}
	h.Bins = append(h.Bins, Bin{Up: tensor.Number(math.Inf(1))})
	for i := range p.narrow.Len() {
		x, y := p.narrow.Elem(i), p.wide.Elem(i)
		switch {
		case lost(x, y):
			h.Lost++
		case !finite(y):
			h.Both++
		default:
			units := math.Abs(x-y) / tensor.ULP(p.narrow.DType(), y)
			k := 0
			for float64(h.Bins[k].Up) < units {
				k++
			}
			h.Bins[k].Count++
		}
	}
	return h
}

// Verdict says in a sentence what the audit found.
func (r *Report) Verdict() string {
	if r.OK() {
		worst := tensor.Number(0)
		for _, row := range r.Rows {
			worst = max(worst, row.Accumulated.Relative)
		}
		return fmt.Sprintf("every node of %s is within the budget of %g: the largest error is %s", r.Program, r.Budget, worst)
	}
	row := r.Rows[r.First]
	text := fmt.Sprintf("%s exceeds the budget of %g: first in %s = %s%s, by an error of %s", r.Program, r.Budget, row.Value, row.Op, at(row.Source), row.Accumulated.Relative)
	switch {
	case row.Accumulated.Lost > 0:
		text += fmt.Sprintf(" (elements lost: %d)", row.Accumulated.Lost)
	case row.Own.Relative > row.Accumulated.Relative/2:
		text += ", which is its own"
	default:
		text += fmt.Sprintf(", of which its own is %s: it inherits or magnifies the rest", row.Own.Relative)
	}
	return text
}

func at(source string) string {
	if source == "" {
		return ""
	}
	return " at " + source
}

// String says where the first value comes from that is not finite.
func (o *Origin) String() string {
	text := fmt.Sprintf("%s = %s%s is the first to give %s: element %s", o.Value, o.Op, at(o.Source), o.Result, tensor.FormatShape(o.Index))
	if finite(float64(o.Reference)) {
		return text + fmt.Sprintf(" is %s in float64, beyond the range of its type", o.Reference)
	}
	return text + fmt.Sprintf(" is %s in float64 too", o.Reference)
}

// Text is the report as lines for a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString(r.Verdict() + "\n")
	if r.Origin != nil {
		b.WriteString(r.Origin.String() + "\n")
	}
	b.WriteString("\n" + r.table().Text())
	for _, o := range r.Outputs {
		b.WriteString("\n" + o.table().Text())
	}
	return b.String()
}

func (r *Report) table() display.Table {
	t := display.Table{
		Title:   "Error against float64, relative to the largest element",
		Columns: []display.Column{{Name: "value"}, {Name: "operator"}, {Name: "result"}, {Name: "accumulated", Align: display.AlignRight}, {Name: "own", Align: display.AlignRight}, {Name: "ULP", Align: display.AlignRight}, {Name: "lost"}, {Name: "source"}, {Name: ""}},
	}
	for i, row := range r.Rows {
		mark := ""
		switch {
		case i == r.First:
			mark = "first over budget"
		case row.Over:
			mark = "over budget"
		}
		t.Rows = append(t.Rows, []any{row.Value, row.Op, row.Spec, row.Accumulated.Relative.String(), row.Own.Relative.String(), row.Accumulated.ULP.String(), row.Accumulated.Lost, row.Source, mark})
	}
	return t
}

// longestGap is how many empty rows of a histogram may follow one another.
const longestGap = 2

// empty counts the bins without elements at the beginning.
func empty(bins []Bin) int {
	n := slices.IndexFunc(bins, func(b Bin) bool { return b.Count > 0 })
	if n < 0 {
		return len(bins)
	}
	return n
}

// barWidth is the length of the longest bar of a histogram.
const barWidth = 40

// table draws the histogram without its empty end; a long gap is one row.
func (o Output) table() display.Table {
	t := display.Table{
		Title:   "Errors of the elements of " + o.Value + " in units in the last place",
		Columns: []display.Column{{Name: "up to", Align: display.AlignRight}, {Name: "elements"}, {Name: "", Align: display.AlignLeft}},
	}
	most, last := max(o.Histogram.Lost, o.Histogram.Both), 0
	for i, b := range o.Histogram.Bins {
		most = max(most, b.Count)
		if b.Count > 0 {
			last = i
		}
	}
	add := func(label string, count int) {
		bar := 0
		if count > 0 {
			bar = max(1, count*barWidth/most)
		}
		t.Rows = append(t.Rows, []any{label, count, strings.Repeat("█", bar)})
	}
	bins := o.Histogram.Bins[:last+1]
	for i := 0; i < len(bins); i++ {
		b := bins[i]
		if n := empty(bins[i:]); n > longestGap {
			t.Rows = append(t.Rows, []any{"…", 0})
			i += n - 1
			continue
		}
		label := strconv.FormatFloat(float64(b.Up), 'g', -1, 64)
		if math.IsInf(float64(b.Up), 1) {
			label = "more"
		}
		add(label, b.Count)
	}
	if o.Histogram.Lost > 0 {
		add("lost", o.Histogram.Lost)
	}
	if o.Histogram.Both > 0 {
		add("not finite in float64 either", o.Histogram.Both)
	}
	return t
}

// Display shows the verdict, a row per value and the histograms.
func (r *Report) Display() display.Bundle {
	b := display.Text(r.Text())
	page := "<p>" + html.EscapeString(r.Verdict()) + "</p>"
	if r.Origin != nil {
		page += "<p>" + html.EscapeString(r.Origin.String()) + "</p>"
	}
	tables := []display.Table{r.table()}
	for _, o := range r.Outputs {
		tables = append(tables, o.table())
	}
	for _, t := range tables {
		text, _ := t.Display().Data["text/html"].(string)
		page += text
	}
	b.Data["text/html"] = page
	return b
}
