package verify

import (
	"encoding/base64"
	"fmt"
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

// Capture is the capture that an output carries, verified: its content has the hash
// that it says, follows from its samples, and is what the output states beside it.
func Capture(o *notebook.Output) (*capture.Capture, error) {
	text, ok := o.MIME(capture.MIMEType)
	if !ok {
		return nil, fmt.Errorf("the capture is no text of base64")
	}
	if len(text) > 2*capture.MaxFile {
		return nil, fmt.Errorf("the capture has %d bytes, more than %d", len(text), 2*capture.MaxFile)
	}
	packed, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, fmt.Errorf("the capture is no base64: %w", err)
	}
	c, err := capture.Unpack(packed)
	if err != nil {
		return nil, err
	}
	sum, err := capture.Hash(c)
	if err != nil {
		return nil, err
	}
	hints, _ := o.Metadata[capture.MIMEType].(map[string]any)
	if stated, _ := hints["sha256"].(string); stated != sum {
		return nil, fmt.Errorf("the output states the hash %.12q, and its capture has %.12s", stated, sum)
	}
	if shown, _ := o.MIME("text/plain"); !strings.Contains(shown, sum) {
		return nil, fmt.Errorf("what the output shows is not drawn from its capture, whose hash %.12s is not in it", sum)
	}
	return c, nil
}

// Redraw is what a capture shows, as an output would hold it.
func Redraw(c *capture.Capture) (map[string]any, error) {
	r, err := capture.NewReport(c, true)
	if err != nil {
		return nil, err
	}
	data, _ := r.Display().Wire()
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
		c, err := Capture(o)
		if err == nil && here != nil && here.Tree == capture.Clean && here.Commit != "" && here.Commit == c.Environment.Commit && c.Environment.Tree == capture.Clean {
			err = redrawn(o, c)
		}
		if err != nil {
			diffs = append(diffs, Difference{Where: where, Detail: err.Error()})
		}
	}
	return diffs
}

// redrawn compares all that an output shows with what its capture shows.
func redrawn(o *notebook.Output, c *capture.Capture) error {
	want, err := Redraw(c)
	if err != nil {
		return err
	}
	for mime, content := range want {
		if shown, _ := o.MIME(mime); mime != capture.MIMEType && shown != content {
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
	first, err := Capture(want)
	if err != nil {
		return fail("stored: ", err)
	}
	second, err := Capture(got)
	if err != nil {
		return fail("new: ", err)
	}
	a, err := capture.Agree(first, second)
	switch {
	case err != nil:
		return fail("", err)
	case a.Elsewhere != "":
		t.uncompared = "measured again; times: " + a.Elsewhere
	case t.skipTimes:
		t.uncompared = "measured again; times are not to be compared"
	case first.Settings.Blocks == 0:
		t.uncompared = "measured again; without blocks, no interval says what another run finds"
	default:
		t.measured = append(t.measured, a.Rows...)
	}
	var diffs []Difference
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
