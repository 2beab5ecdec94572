package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"forgekernel/kernel/notebook"
	"forgekernel/kernel/wire"
)

// message merges one IOPub message into the running cell.
func (r *run) message(m *wire.Message) error {
	var err error
	switch m.Header.MsgType {
	case "stream":
		err = r.print(m)
	case "display_data", "execute_result":
		err = r.display(m)
	case "update_display_data":
		err = r.update(m)
	case "error":
		err = r.failure(m)
	case "clear_output":
		err = r.clearOutput(m)
	case "execute_input":
		var input wire.ExecuteInput
		if err = m.Decode(&input); err == nil {
			r.nb.Cells[r.index].ExecutionCount = input.ExecutionCount
		}
	}
	if err != nil {
		return fmt.Errorf("%v: %s: %w", r.place(), m.Header.MsgType, err)
	}
	return nil
}

func (r *run) print(m *wire.Message) error {
	var s wire.Stream
	if err := m.Decode(&s); err != nil {
		return err
	}
	r.clearIfPending()
	if r.stream == nil || r.stream.Name != s.Name {
		r.endStream()
		r.stream = &notebook.Output{Type: notebook.Stream, Name: s.Name}
		c := r.nb.Cells[r.index]
		c.Outputs = append(c.Outputs, r.stream)
	}
	r.text.WriteString(s.Text)
	r.opts.Observer.Output(r.index, &notebook.Output{Type: notebook.Stream, Name: s.Name, Text: s.Text}, false)
	return nil
}

// endStream stores the text of the last stream output, which grows in a
// builder so that a million lines do not take quadratic time.
func (r *run) endStream() {
	if r.stream != nil {
		r.stream.Text = r.text.String()
		r.stream = nil
		r.text.Reset()
	}
}

// bundle is the content of the three display messages. Numbers in it are kept
// as they were written.
type bundle struct {
	Data           map[string]any `json:"data"`
	Metadata       map[string]any `json:"metadata"`
	ExecutionCount int            `json:"execution_count"`
	Transient      struct {
		DisplayID string `json:"display_id"`
	} `json:"transient"`
}

func decodeBundle(m *wire.Message) (*bundle, error) {
	dec := json.NewDecoder(bytes.NewReader(m.Content))
	dec.UseNumber()
	b := &bundle{}
	if err := dec.Decode(b); err != nil {
		return nil, err
	}
	return b, nil
}

func (r *run) display(m *wire.Message) error {
	b, err := decodeBundle(m)
	if err != nil {
		return err
	}
	o := &notebook.Output{Type: notebook.DisplayData, Data: b.Data, Metadata: b.Metadata}
	if m.Header.MsgType == "execute_result" {
		o.Type, o.ExecutionCount = notebook.ExecuteResult, b.ExecutionCount
	}
	r.replaceShown(b)
	r.append(o)
	if id := b.Transient.DisplayID; id != "" {
		r.shown[id] = append(r.shown[id], o)
	}
	return nil
}

func (r *run) update(m *wire.Message) error {
	b, err := decodeBundle(m)
	if err != nil {
		return err
	}
	r.replaceShown(b)
	return nil
}

// replaceShown gives a new content to everything shown under a display id, in
// whatever cell.
func (r *run) replaceShown(b *bundle) {
	for _, o := range r.shown[b.Transient.DisplayID] {
		o.Data, o.Metadata = b.Data, b.Metadata
		r.opts.Observer.Output(r.index, o, true)
	}
}

func (r *run) failure(m *wire.Message) error {
	var f wire.Failure
	if err := m.Decode(&f); err != nil {
		return err
	}
	r.append(&notebook.Output{Type: notebook.Error, ErrorName: f.Name, ErrorValue: f.Value, Traceback: f.Traceback})
	return nil
}

func (r *run) append(o *notebook.Output) {
	r.clearIfPending()
	r.endStream()
	c := r.nb.Cells[r.index]
	c.Outputs = append(c.Outputs, o)
	r.opts.Observer.Output(r.index, o, false)
}

func (r *run) clearOutput(m *wire.Message) error {
	var content wire.ClearOutput
	if err := m.Decode(&content); err != nil {
		return err
	}
	if content.Wait {
		r.clearPending = true
		return nil
	}
	r.clear()
	return nil
}

func (r *run) clearIfPending() {
	if r.clearPending {
		r.clear()
	}
}

// clear removes the outputs of the running cell; later updates of theirs have
// nothing to replace.
func (r *run) clear() {
	r.clearPending = false
	r.endStream()
	c := r.nb.Cells[r.index]
	for id, outputs := range r.shown {
		r.shown[id] = slices.DeleteFunc(outputs, func(o *notebook.Output) bool { return slices.Contains(c.Outputs, o) })
	}
	c.Outputs = nil
	r.opts.Observer.Clear(r.index)
}
