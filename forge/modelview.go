package forge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forgekernel/display"
)

// maxOperators is the number of operators that a model shows with their counts.
const maxOperators = 24

// Display shows what the file holds.
func (m *Model) Display() display.Bundle {
	t := display.Table{Title: m.Name(), Columns: []display.Column{{Name: "", Align: display.AlignRight}, {Name: ""}}}
	add := func(label, format string, args ...any) {
		t.Rows = append(t.Rows, []any{label, fmt.Sprintf(format, args...)})
	}
	add("format", "%s", m.Format())
	add("file", "%s, %s", m.path, display.FormatBytes(m.size))
	m.each("input", m.inputLines(), add)
	if open := m.openDims(); open != nil {
		add("open", "%s", strings.Join(open, ", "))
	}
	m.each("output", m.Outputs(), add)
	m.each("operators", operatorLines(m.file.Operators()), add)
	m.each("length", m.Buckets(), add)
	if p := m.file.programs().recent(); p != nil {
		m.each("note", p.Notes(), add)
	}
	return t.Display()
}

// each adds a row for every line, the first with the label.
func (m *Model) each(label string, lines []string, add func(label, format string, args ...any)) {
	for i, line := range lines {
		if i > 0 {
			label = ""
		}
		add(label, "%s", line)
	}
}

func (m *Model) inputLines() []string {
	var list []string
	for _, in := range m.Inputs() {
		line := in.String()
		if in.Source != "" && in.Source != sourceNames[in.DType.String()] {
			line += " (" + in.Source + " in the file)"
		}
		list = append(list, line)
	}
	return list
}

// sourceNames are what files call the element types.
var sourceNames = map[string]string{
	"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "bool": "bool",
}

// openDims are the names of the dimensions that a binding settles.
func (m *Model) openDims() []string {
	var list []string
	for _, in := range m.Inputs() {
		for _, d := range in.Dims {
			if name := d.String(); !d.Fixed && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// operatorLines are operators and how often each occurs, the most frequent first,
// some in a line.
func operatorLines(counts map[string]int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return nil
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	const inLine = 8
	lines := []string{display.Count(total, "node") + " of " + display.Count(len(names), "kind")}
	for i, name := range names[:min(len(names), maxOperators)] {
		if i%inLine == 0 {
			lines = append(lines, "")
		} else {
			lines[len(lines)-1] += ", "
		}
		lines[len(lines)-1] += fmt.Sprintf("%d %s", counts[name], name)
	}
	if more := len(names) - maxOperators; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d kinds more", more))
	}
	return lines
}
