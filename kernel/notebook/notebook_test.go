package notebook

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestRoundTrip reads and writes a file that nbformat wrote.
func TestRoundTrip(t *testing.T) {
	want, err := os.ReadFile("testdata/jupyter.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	nb, err := Read(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := nb.Write(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("wrote\n%s\nwant\n%s", got.String(), want)
	}
	path := filepath.Join(t.TempDir(), "out.ipynb")
	if err := nb.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	again, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(nb, again) {
		t.Error("the written file reads differently")
	}
}

func TestFields(t *testing.T) {
	nb, err := ReadFile("testdata/jupyter.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	c := nb.Cells[2]
	if c.ID != "ends-_9" || c.Type != Code || c.ExecutionCount != 3 || !c.HasTag("parameters") || c.HasTag("other") {
		t.Errorf("cell is %+v", c)
	}
	if !strings.HasPrefix(c.Source, "a\r\nb\rc\vd") {
		t.Errorf("source is %q", c.Source)
	}
	if c.Outputs[0].Text != "one\ntwo" || c.Outputs[0].Name != "stdout" {
		t.Errorf("stream is %+v", c.Outputs[0])
	}
	if svg, ok := c.Outputs[2].MIME("image/svg+xml"); !ok || svg != "<svg>\n</svg>" {
		t.Errorf("svg is %q", svg)
	}
	if e := c.Outputs[4]; e.ErrorName != "E" || len(e.Traceback) != 2 {
		t.Errorf("error is %+v", e)
	}
	c.ClearOutputs()
	if c.ExecutionCount != 0 || len(c.Outputs) != 0 {
		t.Error("outputs are not cleared")
	}
}

// TestUpgrade gives cells of nbformat 4.4 ids that do not change from one
// reading to the next, nor when a cell is added before them.
func TestUpgrade(t *testing.T) {
	const old = `{"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [
		{"cell_type": "code", "source": "x", "metadata": {}, "outputs": [], "execution_count": null},
		{"cell_type": "code", "source": ["x"], "metadata": {}, "outputs": [], "execution_count": null},
		{"cell_type": "markdown", "source": "y", "metadata": {}, "id": "bad id"},
		{"cell_type": "raw", "source": "z", "metadata": {}, "id": "r"},
		{"cell_type": "raw", "source": "z", "metadata": {}, "id": "r"}]}`
	ids := func(source string) []string {
		t.Helper()
		nb, err := Read(strings.NewReader(source))
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		seen := map[string]bool{}
		for _, c := range nb.Cells {
			if !validID(c.ID) || seen[c.ID] {
				t.Errorf("id %q is invalid or taken", c.ID)
			}
			seen[c.ID] = true
			ids = append(ids, c.ID)
		}
		return ids
	}
	first := ids(old)
	if again := ids(old); !reflect.DeepEqual(first, again) {
		t.Errorf("ids %v became %v", first, again)
	}
	more := ids(strings.Replace(old, `"cells": [`, `"cells": [{"cell_type": "code", "source": "new"},`, 1))
	if !reflect.DeepEqual(more[1:], first) {
		t.Errorf("ids %v became %v", first, more[1:])
	}
	if first[3] != "r" {
		t.Errorf("a valid id became %q", first[3])
	}
}

// As many equal cells as a file may have get their ids in a time that grows with their
// number: with its square it is an hour.
func TestEqualCells(t *testing.T) {
	cells := strings.Repeat(`{"cell_type": "code"},`, MaxCells)
	nb, err := Read(strings.NewReader(`{"nbformat": 4, "cells": [` + cells[:len(cells)-1] + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range nb.Cells {
		seen[c.ID] = true
	}
	if len(seen) != MaxCells || !seen["3baec214"] {
		t.Errorf("%d ids for %d cells; the first is %q", len(seen), MaxCells, nb.Cells[0].ID)
	}
}

func TestReadErrors(t *testing.T) {
	const head = `{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": `
	for _, c := range []struct{ source, want string }{
		{``, "not a notebook: it is empty"},
		{`[]`, "not a notebook: line 1: a list stands where an object belongs"},
		{`null`, "not a notebook: it is not a JSON object"},
		{"{\n\"a\": \n}", "not a notebook: line 3 is not JSON: }"},
		{`{}`, "it has no nbformat"},
		{`{"nbformat": "4"}`, "nbformat is not a count"},
		{`{"nbformat": 3, "worksheets": []}`, "it has the old format 3; convert it"},
		{`{"nbformat": 5}`, "newer than 4.5"},
		{`{"nbformat": 4, "nbformat_minor": 6}`, "it has format 4.6, newer than 4.5"},
		{`{"nbformat": 4}`, "it has no list of cells"},
		{head + `{}}`, "it has no list of cells"},
		{head + `[7]}`, "cell 1 of the notebook: is not an object"},
		{head + `[{"cell_type": "code", "source": 7}]}`, "cell 1 of the notebook: source is not text"},
		{head + `[{"cell_type": "code", "source": ["a", 7]}]}`, "cell 1 of the notebook: source is not text"},
		{head + `[{"cell_type": "poem"}]}`, `cell 1 of the notebook: unknown cell_type "poem"`},
		{head + `[{"cell_type": "raw"}, {"cell_type": "code", "outputs": [{"output_type": "smell"}]}]}`,
			`cell 2 of the notebook, output 1: unknown output_type "smell"`},
		{head + `[{"cell_type": "code", "execution_count": -1}]}`, "cell 1 of the notebook: execution_count is not a count"},
		{head + `[{"cell_type": "code", "execution_count": 1.5}]}`, "cell 1 of the notebook: execution_count is not a count"},
		{head + `[{"cell_type": "code", "metadata": []}]}`, "cell 1 of the notebook: metadata is not an object"},
		{head + `[{"cell_type": "code", "outputs": {}}]}`, "cell 1 of the notebook: outputs is not a list"},
		{head + `[{"cell_type": "code", "outputs": [{"output_type": "error", "traceback": [1]}]}]}`, "traceback is not a list of text"},
		{head + `[{"cell_type": "markdown", "attachments": {"a": 1}}]}`, `attachment "a" is not an object`},
		{head + `[]} x`, "something follows"},
		{`{"nbformat": 4, "cells": [], "metadata": {"a": ` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}}`, "more than 200 deep"},
	} {
		nb, err := Read(strings.NewReader(c.source))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n\tgives %v, %v; want %q", c.source, nb, err, c.want)
		}
	}
}

func TestSplitLines(t *testing.T) {
	for _, c := range []struct {
		text string
		want []any
	}{
		{"", []any{}},
		{"a", []any{"a"}},
		{"a\n", []any{"a\n"}},
		{"\n\na", []any{"\n", "\n", "a"}},
		{"a\r\nb\r\r\nc", []any{"a\r\n", "b\r", "\r\n", "c"}},
		{"a\u2028b\x85c\u0085d", []any{"a\u2028", "b\x85c\u0085", "d"}},
	} {
		if got := splitLines(c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("splitLines(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestWriteOddValues(t *testing.T) {
	nb := &Notebook{
		Metadata: map[string]any{"struct": struct{ A []int }{[]int{1, 2}}, "float": 0.5, "bad": "a\xffb"},
		Cells:    []*Cell{{Type: Code, Source: "x"}, {Type: Code, Source: "x"}},
	}
	var b bytes.Buffer
	if err := nb.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\"struct\": {\n   \"A\": [\n    1,\n    2\n   ]\n  }", "\"float\": 0.5", "\"bad\": \"a\uFFFDb\""} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if _, err := Read(&b); err != nil {
		t.Error(err)
	}
	nb.Metadata["func"] = func() {}
	if err := nb.Write(&b); err == nil {
		t.Error("a function was written")
	}
	nb.Insert(1, &Cell{Type: Markdown, Source: "y"})
	if nb.Cells[1].Source != "y" || nb.Cells[1].ID == "" || len(nb.Cells) != 3 {
		t.Errorf("inserted: %+v", nb.Cells)
	}
}

// FuzzRead checks that what can be read can be written, and then reads alike.
func FuzzRead(f *testing.F) {
	sample, err := os.ReadFile("testdata/jupyter.ipynb")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	f.Add([]byte(`{"nbformat": 4, "nbformat_minor": 0, "cells": [{"cell_type": "code", "source": "\ud800", "outputs": [{"output_type": "stream"}]}]}`))
	f.Add([]byte(`{"nbformat": 4, "cells": [{"cell_type": "markdown", "attachments": {"a": {"b": ["c", 1]}}, "id": null}]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		nb, err := Read(bytes.NewReader(content))
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := nb.Write(&first); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, first.Bytes())
		}
		if err := again.Write(&second); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("wrote\n%s\nand then\n%s", first.Bytes(), second.Bytes())
		}
	})
}
