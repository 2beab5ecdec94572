package capture

import (
	"errors"
	"fmt"
	"html"
	"strings"

	"forgekernel/display"
	"forgekernel/display/chart"
)

// View names what of captures a display shows. The display carries the captures
// ([MIMEType]) and, in their metadata, the view, so that a reader of a notebook can see
// that they prove themselves, and draw it again.
type View struct {
	Name string   // one of the constants; empty for a whole [Report]
	Of   []string // the sides of a comparison, or the workload of a distribution
}

// Views. That of [Report.With] is somebody else's work, which cannot be drawn again.
const (
	ViewGain         = "gain"         // [Report.Gain]
	ViewSides        = "sides"        // [Sides]
	ViewComparison   = "comparison"   // [Compare]
	ViewAgreement    = "agreement"    // [Agree]
	ViewRoofline     = "roofline"     // [Report.Roofline]
	ViewDistribution = "distribution" // [Report.Distribution]
	ViewOwn          = "own"          // [Report.With]
)

// Drawing is a figure of a report, which carries the capture when it is shown.
type Drawing struct {
	chart.Figure
	view    View
	capture *Capture
}

// Display shows the figure, with the capture.
func (d Drawing) Display() display.Bundle { return carry(d.Figure.Display(), d.view, d.capture) }

// With shows a value that follows from the measurement in a way of the caller's own, such
// as a chart of its samples, with the capture.
func (r *Report) With(v any) display.Bundle {
	return carry(display.ToBundle(v), View{Name: ViewOwn}, r.capture)
}

// carry adds captures to a display of theirs, and says in text which they are.
func carry(b display.Bundle, v View, captures ...*Capture) display.Bundle {
	packed, err := Pack(captures...)
	if err != nil {
		return display.ToBundle(err)
	}
	hints, err := v.hints(captures)
	if err != nil {
		return display.ToBundle(err)
	}
	out := display.Bundle{Data: map[string]any{MIMEType: packed}, Metadata: map[string]any{MIMEType: hints}}
	for mime, content := range b.Data {
		out.Data[mime] = content
	}
	for mime, hint := range b.Metadata {
		out.Metadata[mime] = hint
	}
	if v.Name == "" { // a report says it among the rest
		return out
	}
	ids, sums := strings.Fields(hints["id"].(string)), strings.Fields(hints["sha256"].(string))
	if text, is := b.Data["text/plain"].(string); is {
		out.Data["text/plain"] = strings.TrimRight(text, "\n") + "\n" + source(ids, sums) + "\n"
	}
	if text, is := b.Data["text/html"].(string); is {
		for i, sum := range sums {
			sums[i] = sum[:shownHash] + "…"
		}
		out.Data["text/html"] = text + `<div style="color:#57606a;font-size:12px;margin:2px 0 6px">` + html.EscapeString(source(ids, sums)) + "</div>"
	}
	return out
}

// shownHash is how much of a hash a page shows; text has all of it.
const shownHash = 12

// source is what a display says that it follows from.
func source(ids, sums []string) string {
	return "from capture " + strings.Join(ids, " and ") + ", SHA-256 " + strings.Join(sums, " and ")
}

// hints are the metadata of [MIMEType].
func (v View) hints(captures []*Capture) (map[string]any, error) {
	var ids, sums []string
	for _, c := range captures {
		sum, err := Hash(c)
		if err != nil {
			return nil, err
		}
		ids, sums = append(ids, c.ID), append(sums, sum)
	}
	hints := map[string]any{"id": strings.Join(ids, " "), "sha256": strings.Join(sums, " ")}
	if v.Name != "" {
		hints["view"] = v.Name
	}
	if len(v.Of) > 0 {
		hints["of"] = strings.Join(v.Of, " ")
	}
	return hints, nil
}

// ReadView reads the metadata of [MIMEType] in an output: the view, and the hashes of the
// captures that it shows.
func ReadView(hints map[string]any) (v View, sums []string) {
	text := func(key string) string { s, _ := hints[key].(string); return s }
	return View{Name: text("view"), Of: strings.Fields(text("of"))}, strings.Fields(text("sha256"))
}

// Draw is the display of a view. It fails with [errors.ErrUnsupported] for one that
// cannot be drawn from captures alone.
func (v View) Draw(captures ...*Capture) (display.Bundle, error) {
	var shown display.Displayer
	var err error
	two := v.Name == ViewComparison || v.Name == ViewAgreement
	if want := map[bool]int{false: 1, true: 2}[two]; len(captures) != want {
		return display.Bundle{}, fmt.Errorf("a view %q is of %d captures, not of %d", v.Name, want, len(captures))
	}
	switch v.Name {
	case ViewComparison:
		shown, err = Compare(captures[0], captures[1])
	case ViewAgreement:
		shown, err = Agree(captures[0], captures[1])
	default:
		shown, err = v.draw(captures[0])
	}
	if err != nil {
		return display.Bundle{}, err
	}
	return shown.Display(), nil
}

// draw is what a view shows of one capture.
func (v View) draw(c *Capture) (display.Displayer, error) {
	r, err := NewReport(c, true)
	if err != nil {
		return nil, err
	}
	switch {
	case v.Name == "":
		return r, nil
	case v.Name == ViewGain:
		return r.Gain()
	case v.Name == ViewSides && len(v.Of) == 2:
		return r.Compare(v.Of[0], v.Of[1])
	case v.Name == ViewDistribution && len(v.Of) == 1:
		return r.Distribution(v.Of[0])
	case v.Name == ViewRoofline:
		if d, drawn := r.Roofline(); drawn {
			return d, nil
		}
		return nil, errors.New("the limits of the machine were not measured")
	}
	return nil, fmt.Errorf("a view %q of %q: %w", v.Name, v.Of, errors.ErrUnsupported)
}
