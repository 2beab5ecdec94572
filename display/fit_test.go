package display

import (
	"strings"
	"testing"

	"forgekernel/display/internal/cells"
)

// wide is a table of 84 cells.
var wide = Table{
	Title:   "times",
	Columns: []Column{{Name: "candidate"}, {Name: "median", Align: AlignRight}, {Name: "interval", Align: AlignRight}, {Name: "error / allowed", Align: AlignRight}, {Name: "why"}},
	Rows: [][]any{
		{"cpu optimised, 1 thread", "409.8 ns", "407.2 – 554.7 ns", 0.0025, "fastest"},
		{"größer als 界", "1.466 µs", "", 1.5, "second, by far"},
	},
}

func TestTextWithin(t *testing.T) {
	for width, want := range map[int]string{
		80: `times
candidate                  median          interval  error /  why
                                                     allowed
-----------------------  --------  ----------------  -------  --------------
cpu optimised, 1 thread  409.8 ns  407.2 – 554.7 ns   0.0025  fastest
größer als 界            1.466 µs                     1.5000  second, by far
`,
		50: `times
candidate           median          interval
----------------  --------  ----------------
cpu optimised, 1  409.8 ns  407.2 – 554.7 ns
thread
größer als 界     1.466 µs

candidate                error /  why
                         allowed
-----------------------  -------  --------------
cpu optimised, 1 thread   0.0025  fastest
größer als 界             1.5000  second, by far
`,
	} {
		got := wide.TextWithin(width)
		if got != want {
			t.Errorf("within %d:\n%s\nwant\n%s", width, got, want)
		}
		if again := Fit(got, width); again != got {
			t.Errorf("within %d it is fitted again, to\n%s", width, again)
		}
		linesWithin(t, got, width)
		sameWords(t, got, wide)
	}
	if got := wide.TextWithin(12); !strings.HasPrefix(got, "times\ncandi…  cpu\n") {
		t.Errorf("in 12 cells, a line for each:\n%s", got)
	}
}

// TestBrokenHeads sees columns as wide as the longest word of a head, which may stand in a
// later line of it.
func TestBrokenHeads(t *testing.T) {
	table := Table{
		Columns: []Column{{Name: "result"}, {Name: "largest difference", Align: AlignRight}, {Name: "relative difference", Align: AlignRight}},
		Rows:    [][]any{{"%4", "not run", "not run"}},
	}
	const want = `result     largest    relative
        difference  difference
------  ----------  ----------
%4         not run     not run
`
	if got := table.TextWithin(30); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// linesWithin fails the test for a line that is too long.
func linesWithin(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if cells.Width(line) > width {
			t.Errorf("a line has %d cells, more than %d: %s", cells.Width(line), width, line)
		}
	}
}

// sameWords fails the test if a word of the table's rows is not in the text.
func sameWords(t *testing.T, text string, table Table) {
	t.Helper()
	for _, row := range table.grid().rows {
		for _, cell := range row {
			for word := range strings.FieldsSeq(cell) {
				if !strings.Contains(text, word) {
					t.Errorf("the word %q is lost:\n%s", word, text)
				}
			}
		}
	}
}

// Fit knows tables and charts by how they look as text.
func TestFit(t *testing.T) {
	table := wide.Text()
	for _, c := range []struct {
		name, text, want string
		width            int
	}{
		{"a table is the one that would have been made", table, wide.TextWithin(50), 50},
		{"with room it stays", table, table, 200},
		{"an indent counts", "head\n" + indented(table), "head\n" + indented(wide.TextWithin(48)), 50},
		{"code is left alone", "for i := range aVeryLongLineOfCode {\n  a  --  b\n", "for i := range aVeryLongLineOfCode {\n  a  --  b\n", 20},
		{"a rule without columns", "title\n---------------------------\n", "title\n---------------------------\n", 20},
		{"what is no row ends a table", "aaaa  bbbb\n----  ----\nx        y\nno row of the table above, which stays\n", "aaaa  bbbb\n----  ----\nx        y\nno row of the table above, which stays\n", 20},
		{"cells broken before are joined", "name  why\n----  --------------------\nx     tiles of eight rows\n      by sixteen columns\ny     none\n",
			"name  why\n----  ---------------\nx     tiles of eight\n      rows by sixteen\n      columns\ny     none\n", 22},
		{"shades become coarser", "slot  steps\n----  --------------------------------\na     ████████████████................\n",
			"slot  steps\n----  ----------------\na     ████████........\n", 22},
		{"a long word is broken", "name                            n\n----------------------------  ---\n0123456789abcdef0123456789ab    7\n",
			"name                        n\n--------------------------  -\n0123456789abcdef0123456789  7\nab\n", 29},
		{"a chart is cut", "  a |  **\nbbb |      ****\n    +-----------\n     1    2    3\n     time of it all\nafter the chart it goes on\n",
			"  a |  **\nbbb |    …\n    +----…\n     1   …\n     time…\nafter the chart it goes on\n", 10},
	} {
		if got := Fit(c.text, c.width); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

func FuzzFit(f *testing.F) {
	f.Add(wide.Text(), 50)
	f.Add("a  b\n-  -\n界  x\n", 2)
	f.Add("x |\n  +-\n", 1)
	f.Add("  a  b\n  -  -\n\xff  .░\n", 0)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = min(max(width, 1), 300)
		if longest := longestLine(text); longest <= width {
			if got := Fit(text, width); got != text {
				t.Fatalf("%q has room in %d and became %q", text, width, got)
			}
			return
		}
		Fit(text, width)
	})
}

func longestLine(text string) (width int) {
	for line := range strings.SplitSeq(text, "\n") {
		width = max(width, cells.Width(line))
	}
	return width
}
