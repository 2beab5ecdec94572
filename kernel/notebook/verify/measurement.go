package verify

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/capture"
	"forgekernel/kernel/notebook"
)

// isMeasurement reports whether an output carries a capture.
func isMeasurement(o *notebook.Output) bool {
	_, ok := o.Data[capture.MIMEType]
	return ok
}

// Measurement is what an output carries of measurements: the captures that it shows, and
// what of them.
type Measurement struct {
	Captures []*capture.Capture
	View     capture.View
}

// Measured is the measurement that an output carries, verified: the content of each
// capture has the hash that the output says, follows from its samples, and is what the
// output states beside it.
func Measured(o *notebook.Output) (*Measurement, error) {
	text, ok := o.MIME(capture.MIMEType)
	if !ok {
		return nil, fmt.Errorf("the capture is not base64 text")
	}
	if len(text) > 2*capture.MaxFile {
		return nil, fmt.Errorf("the capture has %d bytes, more than %d", len(text), 2*capture.MaxFile)
	}
	packed, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, fmt.Errorf("the capture is not base64: %w", err)
	}
	m := &Measurement{}
	if m.Captures, err = capture.Unpack(packed); err != nil {
		return nil, err
	}
	hints, _ := o.Metadata[capture.MIMEType].(map[string]any)
	view, stated := capture.ReadView(hints)
	m.View = view
	shown, _ := o.MIME("text/plain")
	for i, c := range m.Captures {
		sum, err := capture.Hash(c)
		if err != nil {
			return nil, err
		}
		if i >= len(stated) || stated[i] != sum {
			return nil, fmt.Errorf("the output states the hash %.12q, and its capture has %.12s", strings.Join(stated[min(i, len(stated)):], " "), sum)
		}
		if !strings.Contains(shown, sum) {
			return nil, fmt.Errorf("what the output shows is not drawn from its capture, whose hash %.12s is not in it", sum)
		}
	}
	return m, nil
}

// Redraw is what the captures show, as an output would hold it. It fails with
// [errors.ErrUnsupported] for what the code of a cell drew from them.
func (m *Measurement) Redraw() (map[string]any, error) {
	b, err := m.View.Draw(m.Captures...)
	if err != nil {
		return nil, err
	}
	data, _ := b.Wire()
	return data, nil
}

// checkCaptures holds the measurements of a cell to their captures. A program of the
// commit that took one must draw the same from it; others may draw it otherwise.
func checkCaptures(cell *notebook.Cell, here *capture.Environment) (diffs []Difference) {
	for i, o := range cell.Outputs {
		if !isMeasurement(o) {
			continue
		}
		where := fmt.Sprintf("output %d, %s", i+1, capture.MIMEType)
		m, err := Measured(o)
		if err == nil && m.takenBy(here) {
			err = redrawn(o, m)
		}
		if err != nil {
			diffs = append(diffs, Difference{Where: where, Detail: err.Error()})
		}
	}
	return diffs
}

// takenBy reports whether all captures were taken by the clean commit that this program is of.
func (m *Measurement) takenBy(here *capture.Environment) bool {
	return here != nil && here.Tree == capture.Clean && here.Commit != "" && !slices.ContainsFunc(m.Captures, func(c *capture.Capture) bool {
		return c.Environment.Commit != here.Commit || c.Environment.Tree != capture.Clean
	})
}

// redrawn compares all that an output shows with what its captures show.
func redrawn(o *notebook.Output, m *Measurement) error {
	want, err := m.Redraw()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	for mime, content := range want {
		text, is := content.(string) // a chart's description for a library is no text
		if shown, _ := o.MIME(mime); is && mime != capture.MIMEType && shown != text {
			return fmt.Errorf("the form %s is not what its capture shows", mime)
		}
	}
	return nil
}

func countCaptures(c *notebook.Cell) (n int) {
	for _, o := range c.Outputs {
		if isMeasurement(o) {
			n++
		}
	}
	return n
}

// measurements compares two captures; the stored one has proved itself already.
func (t *comparison) measurements(where string, want, got *notebook.Output) []Difference {
	if !isMeasurement(want) || !isMeasurement(got) {
		return []Difference{{Where: where, Detail: "one of the runs measured and the other did not", Want: summary(want), Got: summary(got)}}
	}
	fail := func(side string, err error) []Difference {
		return []Difference{{Where: where, Detail: side + err.Error()}}
	}
	first, err := Measured(want)
	if err != nil {
		return fail("stored: ", err)
	}
	second, err := Measured(got)
	if err != nil {
		return fail("new: ", err)
	}
	if len(first.Captures) != len(second.Captures) {
		return fail("", fmt.Errorf("it shows %d captures, then %d", len(first.Captures), len(second.Captures)))
	}
	var diffs []Difference
	for i, c := range first.Captures {
		diffs = append(diffs, t.agree(where, c, second.Captures[i])...)
	}
	return diffs
}

// agree compares two captures by their intervals.
func (t *comparison) agree(where string, first, second *capture.Capture) (diffs []Difference) {
	a, err := capture.Agree(first, second)
	switch {
	case err != nil:
		return []Difference{{Where: where, Detail: err.Error()}}
	case a.Elsewhere != "":
		t.uncompared = "measured again; times: " + a.Elsewhere
	case t.skipTimes:
		t.uncompared = "measured again; times are not to be compared"
	case first.Settings.Blocks == 0:
		t.uncompared = "measured again; without blocks, no interval says what another run finds"
	default:
		t.measured = append(t.measured, a.Rows...)
	}
	for _, r := range a.Disagreeing() {
		if t.uncompared == "" {
			diffs = append(diffs, Difference{Where: where, Detail: r.String()})
		}
	}
	return diffs
}

// skipped is the reason for which a cell showed nothing but that something is missing;
// empty when it did not.
func skipped(c *notebook.Cell) string {
	for _, o := range c.Outputs {
		if v, ok := o.Data[display.SkippedType].(map[string]any); ok {
			reason, _ := v["reason"].(string)
			return reason
		}
	}
	return ""
}
