package display

import (
	"math"
	"strings"
	"testing"
	"time"
)

func benchTable() Table {
	return Table{
		Title: "Kernels",
		Columns: []Column{
			{Name: "kernel"}, {Name: "time", Unit: "ms"}, {Name: "rate", Unit: "GFLOP/s"},
			{Name: "runs"}, {Name: "backend", Align: AlignCentre}, {Name: "error"},
		},
		Rows: [][]any{
			{"matmul <8,16>", 0.5, 131.25, 100, "cpu", 1.2e-7},
			{"幅広い_核", 12.125, 9.5, 7, "c", 0.5},
			{"a & b 50%", nil, 2, 12345},
			{"slow", 103.0, math.Inf(1), 1, "wgsl", 0.0, time.Second},
		},
	}
}

func TestTableText(t *testing.T) {
	const want = `
Kernels
kernel         time (ms)  rate (GFLOP/s)   runs  backend    error
-------------  ---------  --------------  -----  -------  -------  --
matmul <8,16>       0.50           131.2    100    cpu    1.2e-07
幅広い_核          12.12             9.5      7     c         0.5
a & b 50%                              2  12345
slow              103.00            +Inf      1   wgsl          0  1s
`
	if got := "\n" + benchTable().Text(); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

func TestTableHTML(t *testing.T) {
	got := Table{Columns: []Column{{Name: "<op>"}, {Name: "n", Unit: "&"}}, Rows: [][]any{{"a\x1bb", 1}}}.Display().Data[mimeHTML]
	const want = `<table class="dataframe mathjax_ignore tex2jax_ignore">
<thead><tr><th style="text-align:left">&lt;op&gt;</th><th style="text-align:right">n (&amp;)</th></tr>
</thead>
<tbody>
<tr><td style="text-align:left">a␛b</td><td style="text-align:right;white-space:nowrap">1</td></tr>
</tbody>
</table>
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableLaTeX(t *testing.T) {
	got := Table{Columns: []Column{{Name: "op"}, {Name: "share", Unit: "%"}}, Rows: [][]any{{`a_b\c`, 12.5}}}.Display().Data[mimeLaTeX]
	const want = `\begin{tabular}{lr}
\toprule
op & share (\%) \\
\midrule
a\_b\textbackslash{}c & 12.5 \\
\bottomrule
\end{tabular}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestColumnDecimals(t *testing.T) {
	tests := []struct {
		cells []any
		want  string
	}{
		{[]any{1.0, 2.0}, "1 2"},
		{[]any{0.001234, 1.5}, "0.0012 1.5000"},
		{[]any{float32(0.25), 100.0}, "0.25 100.00"},
		{[]any{1e9, 1.0}, "1e+09 1"},
		{[]any{123456.789, 0.5}, "123456.79 0.50"},
		{[]any{math.NaN(), -3.14159}, "NaN -3.142"},
		{[]any{0.0}, "0"},
		{[]any{2e-9, 3.5e-9}, "2e-09 3.5e-09"},
		{[]any{1, 2.5}, "1 2.5"},
	}
	for _, test := range tests {
		if got := strings.Join(Column{}.format(test.cells), " "); got != test.want {
			t.Errorf("%v: got %q, want %q", test.cells, got, test.want)
		}
	}
}

func TestEmptyTable(t *testing.T) {
	if got := (Table{}).Text(); got != "\n\n" {
		t.Errorf("got %q", got)
	}
}

func TestLongTableIsCut(t *testing.T) {
	rows := make([][]any, displayedRows+2)
	for i := range rows {
		rows[i] = []any{i}
	}
	long := Table{Columns: []Column{{Name: "n"}}, Rows: rows}
	if text := long.Display().text(); !strings.HasSuffix(text, "\n       999\n... 2 more\n") {
		t.Errorf("text ends %q", text[len(text)-40:])
	}
	if text := long.Text(); !strings.HasSuffix(text, "\n1001\n") || len(long.Rows) != len(rows) {
		t.Errorf("text ends %q", text[len(text)-40:])
	}
}

// A table that is too wide breaks the cells of its widest column of text.
func TestTableTextWithin(t *testing.T) {
	table := Table{Columns: []Column{{Name: "value"}, {Name: "why"}, {Name: "n"}}, Rows: [][]any{{"%h", "every operator runs by its own definition", 1}, {"%longer", "", 20}}}
	const want = `value    why                   n
-------  -------------------  --
%h       every operator runs   1
         by its own
         definition
%longer                       20
`
	if got := table.TextWithin(32); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := table.TextWithin(80); got != table.Text() {
		t.Errorf("a table with room changed:\n%s", got)
	}
}
