package chart

import (
	"encoding/json"
	"fmt"

	"forgekernel/display"
	"forgekernel/display/internal/canvas"
	"forgekernel/display/internal/cells"
)

const (
	mimeVega = "application/vnd.vegalite.v5+json"
	mimeSVG  = "image/svg+xml"
	mimePNG  = "image/png"
	mimeText = "text/plain"
)

// vegaBytes is how large a Vega-Lite chart may be: larger ones are slow to open, and
// the pictures show the same.
const vegaBytes = 200_000

// Limits of a PNG: pixels for each CSS pixel, and on a side.
const (
	pngScale = 2.0
	pngSide  = 8000.0
)

// Figure is the chart alone, its title above it.
func (c Chart) Figure() Figure {
	f := Figure{Title: c.Title, Panels: []Chart{c}}
	f.Panels[0].Title = ""
	return f
}

// Display shows the chart in every form.
func (c Chart) Display() display.Bundle { return c.Figure().Display() }

// Display shows the figure in every form: Vega-Lite up to 200 kB, SVG, PNG and text. A
// figure that cannot be drawn shows as text with the reason.
func (f Figure) Display() display.Bundle {
	if err := f.check(); err != nil {
		return display.Text(fmt.Sprintf("%s(no picture: %v)\n", f.Text, err))
	}
	l := f.layout()
	b := display.Bundle{
		Data:     map[string]any{mimeText: l.text(textLine), mimeSVG: l.svg()},
		Metadata: map[string]any{},
	}
	if spec, err := json.Marshal(l.vega()); err == nil && len(spec) <= vegaBytes {
		b.Data[mimeVega] = json.RawMessage(spec)
	}
	png, err := l.png()
	if err != nil {
		b.Data[mimeText] = fmt.Sprintf("%s(no PNG: %v)\n", l.text(textLine), err)
		return b
	}
	b.Data[mimePNG] = png
	b.Metadata[mimePNG] = map[string]any{"width": int(l.w), "height": int(l.h), "alt": l.label()}
	return b
}

// SVG is the figure as an SVG document with presentation attributes only.
func (f Figure) SVG() (string, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	return f.layout().svg(), nil
}

// HTML is the figure as a part of a page: an image, which also pages show that remove
// SVG from what they do not trust.
func (f Figure) HTML() (string, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	l := f.layout()
	return display.Image(l.svg(), l.label()), nil
}

// PNG is the figure as a PNG with two pixels for each of the SVG's.
func (f Figure) PNG() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.layout().png()
}

// Plain is the figure for terminals, charts in lines of 78 cells and tables as wide as
// they are.
func (f Figure) Plain() (string, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	return f.layout().text(textLine), nil
}

// PlainWithin is the figure for a terminal with lines of width cells.
func (f Figure) PlainWithin(width int) (string, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	if f.Text != "" {
		return display.Fit(f.Text, width), nil
	}
	return f.layout().text(width), nil
}

func (l *laid) svg() string {
	s := canvas.NewSVG(l.w, l.h)
	l.draw(s)
	return s.Document(l.label())
}

func (l *laid) png() ([]byte, error) {
	r := canvas.NewRaster(l.w, l.h, min(pngScale, pngSide/l.w, pngSide/l.h))
	l.draw(r)
	return r.PNG()
}

// label is what the figure is called.
func (l *laid) label() string {
	for _, s := range []string{l.Title, l.panels[0].Title} {
		if s != "" {
			return cells.OneLine(s)
		}
	}
	return "chart"
}
