package report

import (
	"errors"
	"strings"
	"testing"

	"forgekernel/display"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/capture"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/runner"
)

// measured is an output with a capture of an interpreter.
func measured(t *testing.T) (*notebook.Output, *capture.Capture) {
	t.Helper()
	g, err := ir.Parse(op.Registry, "graph f(%x: f32[8]) {\n  %y: f32[8] = relu %x\n  return %y\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	s, err := capture.NewSubject("f", g, 7)
	if err != nil {
		t.Fatal(err)
	}
	c, err := capture.New(capture.Settings{Samples: 6, Warmup: 1, Blocks: 6}).
		Measure(t.Context(), []*capture.Subject{s}, []capture.Candidate{capture.OnBackend(interp.New(), capture.Written, 1)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.NewReport(c, true)
	if err != nil {
		t.Fatal(err)
	}
	data, metadata := r.Display().Wire()
	return &notebook.Output{Type: notebook.DisplayData, Data: data, Metadata: metadata}, c
}

// executed is a notebook with the record of a run.
func executed(t *testing.T, r runner.Record, outputs ...*notebook.Output) *notebook.Notebook {
	t.Helper()
	nb := &notebook.Notebook{Metadata: map[string]any{}, Cells: []*notebook.Cell{
		{Type: notebook.Markdown, Source: "# Title"},
		{Type: notebook.Code, Source: "measure()", ExecutionCount: 1, Outputs: outputs},
	}}
	if r.Code == "" {
		r.Code = runner.CodeHash(nb)
	}
	run, err := notebook.Value(r)
	if err != nil {
		t.Fatal(err)
	}
	nb.Metadata["forge"] = map[string]any{"run": run}
	return nb
}

func text(nb *notebook.Notebook) string {
	var b strings.Builder
	for _, c := range nb.Cells {
		b.WriteString(c.Source + "\n")
	}
	return b.String()
}

func TestBuild(t *testing.T) {
	o, c := measured(t)
	drawn, _ := o.MIME("text/html")
	o.Data["text/html"] = "0.1 ms" // which the capture does not say
	record := runner.Record{
		ID: "7", Status: "ok", Started: "2026-03-04T05:06:07.000000Z", Kernel: "forge 1",
		Parameters:  map[string]string{"rows": "8", "name": "it's <b>"},
		Environment: &capture.Environment{CPU: "Test 9000", Commit: "c0ffee", Tree: capture.Clean, Compiler: "cc 13", Libraries: map[string]string{"example.org/m": "v1.2.3"}},
	}
	nb := executed(t, record, o)
	out, err := Build(nb, Source{Name: "a b.ipynb", SHA256: "feed"})
	if err != nil {
		t.Fatal(err)
	}
	hash, err := capture.Hash(c)
	if err != nil {
		t.Fatal(err)
	}
	page := text(out)
	for _, want := range []string{
		"git checkout c0ffee", "notebook verify &#39;a b.ipynb&#39;", `--param &#39;name=it&#39;\&#39;&#39;s &lt;b&gt;&#39; --param rows=8`,
		"Test 9000", "cc 13", "feed", hash, c.ID, "example.org/m", "v1.2.3", record.Started, "6 of each candidate",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
	for _, not := range []string{"edited", "ended early", "clean commit", "<b>"} {
		if strings.Contains(page, not) {
			t.Errorf("%q is in\n%s", not, page)
		}
	}
	if got, _ := out.Cells[1].Outputs[0].MIME("text/html"); got != drawn {
		t.Error("the measurement was not drawn again")
	}
	if got, _ := nb.Cells[1].Outputs[0].MIME("text/html"); got != "0.1 ms" || len(nb.Cells) != 2 {
		t.Error("the notebook was changed")
	}
}

// What follows from a capture that another cell shows is drawn as what it is, and listed
// with it; what a cell drew itself stays.
func TestDerived(t *testing.T) {
	o, c := measured(t)
	agreement, err := capture.Agree(c, c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.NewReport(c, true)
	if err != nil {
		t.Fatal(err)
	}
	outputs := []*notebook.Output{o}
	for _, b := range []display.Bundle{agreement.Display(), r.With(display.Table{Title: "my own"})} {
		data, metadata := b.Wire()
		outputs = append(outputs, &notebook.Output{Type: notebook.DisplayData, Data: data, Metadata: metadata})
	}
	nb := executed(t, runner.Record{ID: "7", Status: "ok"}, outputs...)
	nb.Cells = append(nb.Cells, &notebook.Cell{Type: notebook.Code, Source: "again", ExecutionCount: 2, Outputs: outputs[1:2]})
	var want []string
	for _, o := range outputs {
		html, _ := o.MIME("text/html")
		want = append(want, html)
	}
	outputs[1].Data["text/html"] = "0.1 ms"
	out, err := Build(nb, Source{})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range out.Cells[1].Outputs {
		if got, _ := o.MIME("text/html"); got != want[i] {
			t.Errorf("output %d is %s, want %s", i, got, want[i])
		}
	}
	hash, err := capture.Hash(c)
	if err != nil {
		t.Fatal(err)
	}
	if page := text(out); strings.Count(page, hash) != 1 || !strings.Contains(page, ">In [1 2]</td>") {
		t.Errorf("the capture of cells 1 and 2 is not told once:\n%s", page)
	}
}

func TestWarnings(t *testing.T) {
	nb := executed(t, runner.Record{ID: "7", Status: "timeout", Code: "00", Environment: &capture.Environment{Tree: capture.Dirty, Commit: "x; date"}})
	out, err := Build(nb, Source{Name: "n.ipynb"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"was edited after it ran", "status “timeout”", "no commit reproduces it", "No output holds a capture", "does not say", "git checkout &#39;x; date&#39;"} {
		if !strings.Contains(text(out), want) {
			t.Errorf("%q is not in\n%s", want, text(out))
		}
	}
}

func TestRefuses(t *testing.T) {
	if _, err := Build(&notebook.Notebook{}, Source{}); !errors.Is(err, ErrNoRecord) {
		t.Errorf("error %v", err)
	}
	o, _ := measured(t)
	o.Data["text/plain"] = "0.1 ms"
	if _, err := Build(executed(t, runner.Record{ID: "7", Status: "ok"}, o), Source{}); err == nil || !strings.Contains(err.Error(), "code cell 1 (cell 2 of the notebook): what the output shows is not drawn from its capture") {
		t.Errorf("error %v", err)
	}
}

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{"a-b_1.ipynb": "a-b_1.ipynb", "k=v": "k=v", "": "''", "a b": "'a b'", "$(x)": "'$(x)'", "it's": `'it'\''s'`} {
		if got := quoted(in); got != want {
			t.Errorf("%q is quoted as %s, want %s", in, got, want)
		}
	}
}
