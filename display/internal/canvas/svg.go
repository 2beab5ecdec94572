package canvas

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SVG is a surface that writes an SVG document with presentation attributes
// only: no style sheet, no references, nothing that a sanitiser removes.
type SVG struct {
	w, h float64
	body strings.Builder
}

// NewSVG starts a document of the given size.
func NewSVG(w, h float64) *SVG { return &SVG{w: w, h: h} }

// Document is the finished document; label describes it to screen readers.
func (s *SVG) Document(label string) string {
	w, h := num(s.w), num(s.h)
	head := `<svg xmlns="http://www.w3.org/2000/svg" width="` + w + `" height="` + h +
		`" viewBox="0 0 ` + w + ` ` + h + `" role="img" aria-label="` + escape(label) +
		`" font-family="` + typefaces[Regular].family + `">` + "\n"
	return head + s.body.String() + "</svg>\n"
}

// Box draws a rectangle.
func (s *SVG) Box(b Box) {
	in := b.StrokeWidth / 2
	fmt.Fprintf(&s.body, `<rect x="%s" y="%s" width="%s" height="%s"`, num(b.X+in), num(b.Y+in), num(b.W-2*in), num(b.H-2*in))
	if b.Radius > 0 {
		s.attr("rx", num(max(0, b.Radius-in)))
	}
	s.fill(b.Fill)
	if b.StrokeWidth > 0 {
		s.attr("stroke", paint(b.Stroke))
		s.attr("stroke-width", num(b.StrokeWidth))
	}
	if b.Dashed {
		s.attr("stroke-dasharray", "5 4")
	}
	s.body.WriteString("/>\n")
}

// Curve draws a line.
func (s *SVG) Curve(c Curve) {
	s.body.WriteString(`<path d="M` + pair(c.Points[0]))
	for i := 0; i+3 < len(c.Points); i += 3 {
		p, q, r, end := c.Points[i], c.Points[i+1], c.Points[i+2], c.Points[i+3]
		switch {
		case !straight(p, q, r, end):
			s.body.WriteString("C" + pair(q) + " " + pair(r) + " " + pair(end))
		case p.X == end.X:
			s.body.WriteString("V" + num(end.Y))
		default:
			s.body.WriteString("H" + num(end.X))
		}
	}
	s.body.WriteString(`" fill="none"`)
	s.attr("stroke", paint(c.Stroke))
	s.attr("stroke-width", num(c.Width))
	s.body.WriteString("/>\n")
}

// Line draws a line of straight pieces.
func (s *SVG) Line(l Line) {
	s.path(l.Points)
	s.body.WriteString(`" fill="none"`)
	s.attr("stroke", paint(l.Stroke))
	s.attr("stroke-width", num(l.Width))
	if l.Dashed {
		s.attr("stroke-dasharray", "5 4")
	}
	s.body.WriteString("/>\n")
}

// path begins a path of straight pieces.
func (s *SVG) path(points []Point) {
	for i, q := range points {
		lead := "L"
		if i == 0 {
			lead = `<path d="M`
		}
		s.body.WriteString(lead + pair(q))
	}
}

// Polygon draws a filled area.
func (s *SVG) Polygon(p Polygon) {
	s.path(p.Points)
	s.body.WriteString(`Z"`)
	s.fill(p.Fill)
	s.body.WriteString("/>\n")
}

// Text draws a line of text.
func (s *SVG) Text(t Text) {
	face := typefaces[t.Font]
	s.body.WriteString("<text")
	s.attr("x", num(t.X))
	s.attr("y", num(t.Y))
	switch t.Anchor {
	case Middle:
		s.attr("text-anchor", "middle")
	case End:
		s.attr("text-anchor", "end")
	}
	if face.family != typefaces[Regular].family { // the document's own
		s.attr("font-family", face.family)
	}
	if face.weight != "" {
		s.attr("font-weight", face.weight)
	}
	s.attr("font-size", num(t.Size))
	s.attr("fill", paint(t.Fill))
	s.body.WriteString(">" + escape(t.Text) + "</text>\n")
}

// Group draws with a tooltip.
func (s *SVG) Group(tooltip string, draw func()) {
	if tooltip == "" {
		draw()
		return
	}
	s.body.WriteString("<g><title>" + escape(tooltip) + "</title>\n")
	draw()
	s.body.WriteString("</g>\n")
}

func (s *SVG) attr(name, value string) {
	s.body.WriteString(" " + name + `="` + value + `"`)
}

// fill says what an area is filled with.
func (s *SVG) fill(c color.NRGBA) {
	s.attr("fill", paint(c))
	if c.A > 0 && c.A < 0xff {
		s.attr("fill-opacity", strconv.FormatFloat(math.Round(float64(c.A)/0xff*100)/100, 'f', -1, 64))
	}
}

func paint(c color.NRGBA) string {
	if c.A == 0 {
		return "none"
	}
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// num is x with at most one decimal.
func num(x float64) string {
	n := int64(math.Round(x * 10))
	if n%10 == 0 {
		return strconv.FormatInt(n/10, 10)
	}
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return sign + strconv.FormatInt(n/10, 10) + "." + string('0'+byte(n%10))
}

func pair(p Point) string { return num(p.X) + " " + num(p.Y) }

// escape makes s safe in XML text and attributes; what XML cannot hold at all
// becomes the replacement character.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r < 0x20 && r != '\n' && r != '\t', r == 0xfffe, r == 0xffff:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
