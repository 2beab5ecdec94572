package notebook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"forgekernel/kernel/replace"
)

// WriteFile stores the notebook at path, whole or not at all.
func (nb *Notebook) WriteFile(path string) error { return replace.File(path, nb.Write) }

// Write writes the notebook as nbformat 4.5, laid out as Jupyter does it.
func (nb *Notebook) Write(w io.Writer) error {
	nb.fixIDs()
	cells := []any{}
	for _, c := range nb.Cells {
		cells = append(cells, c.fields())
	}
	root := with(nb.extra, map[string]any{
		"cells": cells, "metadata": orEmpty(nb.Metadata), "nbformat": major, "nbformat_minor": minor,
	})
	var b bytes.Buffer
	if err := encode(&b, root, 0); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// with adds known fields to unknown ones.
func with(extra, known map[string]any) map[string]any {
	all := maps.Clone(extra)
	if all == nil {
		return known
	}
	maps.Copy(all, known)
	return all
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func (c *Cell) fields() map[string]any {
	known := map[string]any{
		"cell_type": string(c.Type), "id": c.ID, "metadata": orEmpty(c.Metadata), "source": splitLines(c.Source),
	}
	if c.Type == Code {
		outputs := []any{}
		for _, o := range c.Outputs {
			outputs = append(outputs, o.fields())
		}
		known["outputs"] = outputs
		known["execution_count"] = countOrNull(c.ExecutionCount)
	} else if c.Attachments != nil {
		attachments := map[string]any{}
		for name, v := range c.Attachments {
			if bundle, ok := v.(map[string]any); ok {
				v = splitBundle(bundle)
			}
			attachments[name] = v
		}
		known["attachments"] = attachments
	}
	return with(c.extra, known)
}

func countOrNull(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func (o *Output) fields() map[string]any {
	known := map[string]any{"output_type": string(o.Type)}
	switch o.Type {
	case Stream:
		known["name"] = o.Name
		known["text"] = splitLines(o.Text)
	case ExecuteResult:
		known["execution_count"] = countOrNull(o.ExecutionCount)
		fallthrough
	case DisplayData:
		known["data"] = splitBundle(o.Data)
		known["metadata"] = orEmpty(o.Metadata)
	case Error:
		known["ename"], known["evalue"] = o.ErrorName, o.ErrorValue
		traceback := []any{}
		for _, line := range o.Traceback {
			traceback = append(traceback, line)
		}
		known["traceback"] = traceback
	}
	return with(o.extra, known)
}

// encode writes JSON as Python's json.dumps does with sorted keys, an indent of
// one and ensure_ascii off.
func encode(b *bytes.Buffer, v any, depth int) error {
	switch v := v.(type) {
	case map[string]any:
		return encodeObject(b, v, depth)
	case []any:
		return encodeList(b, v, depth)
	case string:
		encodeString(b, v)
	case json.Number:
		b.WriteString(v.String())
	case int:
		b.WriteString(strconv.Itoa(v))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case nil:
		b.WriteString("null")
	default:
		// Whatever else a program puts into metadata: through encoding/json.
		return encodeOther(b, v, depth)
	}
	return nil
}

func encodeOther(b *bytes.Buffer, v any, depth int) error {
	plain, err := Value(v)
	if err != nil {
		return err
	}
	return encode(b, plain, depth)
}

// Value turns v into what a notebook holds: maps, lists, strings, booleans and
// json.Numbers, by way of v's form in JSON.
func Value(v any) (any, error) {
	content, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("notebook: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.UseNumber()
	var plain any
	if err := dec.Decode(&plain); err != nil {
		return nil, fmt.Errorf("notebook: %w", err)
	}
	return plain, nil
}

func encodeObject(b *bytes.Buffer, m map[string]any, depth int) error {
	if len(m) == 0 {
		b.WriteString("{}")
		return nil
	}
	b.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteByte(',')
		}
		newLine(b, depth+1)
		encodeString(b, key)
		b.WriteString(": ")
		if err := encode(b, m[key], depth+1); err != nil {
			return err
		}
	}
	newLine(b, depth)
	b.WriteByte('}')
	return nil
}

func encodeList(b *bytes.Buffer, list []any, depth int) error {
	if len(list) == 0 {
		b.WriteString("[]")
		return nil
	}
	b.WriteByte('[')
	for i, v := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		newLine(b, depth+1)
		if err := encode(b, v, depth+1); err != nil {
			return err
		}
	}
	newLine(b, depth)
	b.WriteByte(']')
	return nil
}

func newLine(b *bytes.Buffer, depth int) {
	b.WriteByte('\n')
	for range depth {
		b.WriteByte(' ')
	}
}

var shortEscapes = map[byte]string{
	'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`,
}

func encodeString(b *bytes.Buffer, s string) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	b.WriteByte('"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b.WriteString(s[start:i])
		if short, ok := shortEscapes[c]; ok {
			b.WriteString(short)
		} else {
			fmt.Fprintf(b, `\u%04x`, c)
		}
		start = i + 1
	}
	b.WriteString(s[start:])
	b.WriteByte('"')
}
