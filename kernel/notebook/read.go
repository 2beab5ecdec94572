package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"

	"forgekernel/forge/textfile"
)

// FormatError says why a file is not a notebook that this package reads.
type FormatError struct {
	Where   string // "cell 3 of the notebook, output 1"; empty for the file as a whole
	Problem string
}

// Error is where and what.
func (e *FormatError) Error() string {
	if e.Where == "" {
		return "not a notebook: " + e.Problem
	}
	return "not a notebook: " + e.Where + ": " + e.Problem
}

// ReadFile reads a notebook from a file.
func ReadFile(path string) (*Notebook, error) {
	content, err := textfile.Read(path, MaxBytes)
	if err != nil {
		return nil, err
	}
	nb, err := Read(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return nb, nil
}

// Read reads a notebook. Its errors are those of r and of type *FormatError.
// A cell without a usable id gets one that depends on its content and on its
// place among equals alone, so that reading a file twice gives the same ids.
func Read(r io.Reader) (*Notebook, error) {
	content, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(content) > MaxBytes {
		return nil, &FormatError{Problem: fmt.Sprintf("it is larger than %d MiB", MaxBytes>>20)}
	}
	if content, err = textfile.Decode(content); err != nil {
		return nil, &FormatError{Problem: err.Error()}
	}
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.UseNumber()
	var root object
	if err := dec.Decode(&root.fields); err != nil {
		return nil, &FormatError{Problem: textfile.JSONError(content, err).Error()}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &FormatError{Problem: "something follows the JSON object"}
	}
	if deeper(root.fields, MaxDepth) {
		return nil, &FormatError{Problem: fmt.Sprintf("lists and objects stand in one another more than %d deep", MaxDepth)}
	}
	return root.notebook()
}

// deeper reports whether v has more than limit levels of lists and objects.
func deeper(v any, limit int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, element := range v {
			if limit == 0 || deeper(element, limit-1) {
				return true
			}
		}
	case []any:
		for _, element := range v {
			if limit == 0 || deeper(element, limit-1) {
				return true
			}
		}
	}
	return false
}

// object takes known fields out of a JSON object and keeps the rest. The first
// field of the wrong type is its error.
type object struct {
	where  string
	fields map[string]any
	err    error
}

func (o *object) fail(format string, args ...any) {
	if o.err == nil {
		o.err = &FormatError{o.where, fmt.Sprintf(format, args...)}
	}
}

// take removes a field; an absent one is nil.
func (o *object) take(name string) any {
	v := o.fields[name]
	delete(o.fields, name)
	return v
}

func (o *object) text(name string) string {
	v := o.take(name)
	if v == nil {
		return ""
	}
	s, ok := joinLines(v)
	if !ok {
		o.fail("%s is not text", name)
	}
	return s
}

func (o *object) object(name string) map[string]any {
	v := o.take(name)
	if v == nil {
		return map[string]any{}
	}
	m, ok := v.(map[string]any)
	if !ok {
		o.fail("%s is not an object", name)
	}
	return m
}

func (o *object) list(name string) []any {
	v := o.take(name)
	if v == nil {
		return nil
	}
	l, ok := v.([]any)
	if !ok {
		o.fail("%s is not a list", name)
	}
	return l
}

// count is a non-negative integer, or 0 for null.
func (o *object) count(name string) int {
	v := o.take(name)
	if v == nil {
		return 0
	}
	n, ok := v.(json.Number)
	i, err := strconv.Atoi(n.String())
	if !ok || err != nil || i < 0 || i > math.MaxInt32 {
		o.fail("%s is not a count", name)
		return 0
	}
	return i
}

// each calls f for every element of a list of objects; element is what to call the n-th.
func (o *object) each(name, element string, f func(*object)) {
	for i, v := range o.list(name) {
		child := &object{where: fmt.Sprintf(element, i+1)}
		if o.where != "" {
			child.where = o.where + ", " + child.where
		}
		fields, ok := v.(map[string]any)
		if !ok {
			child.fail("is not an object")
		}
		child.fields = fields
		if ok {
			f(child)
		}
		if o.err == nil {
			o.err = child.err
		}
	}
}

func (o *object) notebook() (*Notebook, error) {
	if o.fields == nil {
		return nil, &FormatError{Problem: "it is not a JSON object"}
	}
	if err := checkVersion(o); err != nil {
		return nil, err
	}
	cells, ok := o.fields["cells"].([]any)
	if !ok {
		return nil, &FormatError{Problem: "it has no list of cells"}
	}
	if len(cells) > MaxCells {
		return nil, &FormatError{Problem: fmt.Sprintf("it has %d cells, more than %d", len(cells), MaxCells)}
	}
	nb := &Notebook{Metadata: o.object("metadata")}
	o.each("cells", "cell %d of the notebook", func(c *object) { nb.Cells = append(nb.Cells, c.cell()) })
	if o.err != nil {
		return nil, o.err
	}
	nb.extra = o.fields
	nb.fixIDs()
	return nb, nil
}

func checkVersion(o *object) error {
	if _, ok := o.fields["nbformat"]; !ok {
		return &FormatError{Problem: "it has no nbformat"}
	}
	gotMajor, gotMinor := o.count("nbformat"), o.count("nbformat_minor")
	switch {
	case o.err != nil:
		return o.err
	case gotMajor < major:
		return &FormatError{Problem: fmt.Sprintf("it has the old format %d; convert it with `jupyter nbconvert --to notebook`", gotMajor)}
	case gotMajor > major || gotMinor > minor:
		return &FormatError{Problem: fmt.Sprintf("it has format %d.%d, newer than %d.%d", gotMajor, gotMinor, major, minor)}
	}
	return nil
}

func (o *object) cell() *Cell {
	c := &Cell{
		ID:       o.text("id"),
		Type:     CellType(o.text("cell_type")),
		Source:   o.text("source"),
		Metadata: o.object("metadata"),
	}
	switch c.Type {
	case Code:
		c.ExecutionCount = o.count("execution_count")
		o.each("outputs", "output %d", func(out *object) { c.Outputs = append(c.Outputs, out.output()) })
	case Markdown, Raw:
		c.Attachments = o.attachments()
	default:
		o.fail("unknown cell_type %q", c.Type)
	}
	c.extra = o.fields
	return c
}

func (o *object) attachments() map[string]any {
	if o.fields["attachments"] == nil {
		return nil
	}
	attachments := maps.Clone(o.object("attachments"))
	for name, v := range attachments {
		bundle, ok := v.(map[string]any)
		if !ok {
			o.fail("attachment %q is not an object", name)
			continue
		}
		attachments[name] = joinBundle(bundle)
	}
	return attachments
}

func (o *object) output() *Output {
	out := &Output{Type: OutputType(o.text("output_type"))}
	switch out.Type {
	case Stream:
		out.Name, out.Text = o.text("name"), o.text("text")
	case ExecuteResult:
		out.ExecutionCount = o.count("execution_count")
		fallthrough
	case DisplayData:
		out.Data = joinBundle(o.object("data"))
		out.Metadata = o.object("metadata")
	case Error:
		out.ErrorName, out.ErrorValue = o.text("ename"), o.text("evalue")
		for _, line := range o.list("traceback") {
			s, ok := line.(string)
			if !ok {
				o.fail("traceback is not a list of text")
			}
			out.Traceback = append(out.Traceback, s)
		}
	default:
		o.fail("unknown output_type %q", out.Type)
	}
	out.extra = o.fields
	return out
}
