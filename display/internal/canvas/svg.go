package canvas

import (
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
	body []byte
}

// NewSVG starts a document of the given size.
func NewSVG(w, h float64) *SVG { return &SVG{w: w, h: h} }

// Document is the finished document; label describes it to screen readers.
func (s *SVG) Document(label string) string {
	w, h := num(s.w), num(s.h)
	head := `<svg xmlns="http://www.w3.org/2000/svg" width="` + w + `" height="` + h +
		`" viewBox="0 0 ` + w + ` ` + h + `" role="img" aria-label="` + escape(label) +
		`" font-family="` + typefaces[Regular].family + `">` + "\n"
	return head + string(s.body) + "</svg>\n"
}

// Box draws a rectangle.
func (s *SVG) Box(b Box) {
	in := b.StrokeWidth / 2
	s.write("<rect")
	s.measure("x", b.X+in)
	s.measure("y", b.Y+in)
	s.measure("width", b.W-2*in)
	s.measure("height", b.H-2*in)
	if b.Radius > 0 {
		s.measure("rx", max(0, b.Radius-in))
	}
	s.fill(b.Fill)
	if b.StrokeWidth > 0 {
		s.attr("stroke", paint(b.Stroke))
		s.measure("stroke-width", b.StrokeWidth)
	}
	if b.Dashed {
		s.attr("stroke-dasharray", "5 4")
	}
	s.write("/>\n")
}

// Curve draws a line.
func (s *SVG) Curve(c Curve) {
	s.write(`<path d="M`)
	s.pair(c.Points[0])
	for i := 0; i+3 < len(c.Points); i += 3 {
		p, q, r, end := c.Points[i], c.Points[i+1], c.Points[i+2], c.Points[i+3]
		switch {
		case !straight(p, q, r, end):
			s.write("C")
			s.pair(q)
			s.write(" ")
			s.pair(r)
			s.write(" ")
			s.pair(end)
		case p.X == end.X:
			s.write("V")
			s.num(end.Y)
		default:
			s.write("H")
			s.num(end.X)
		}
	}
	s.write(`" fill="none"`)
	s.attr("stroke", paint(c.Stroke))
	s.measure("stroke-width", c.Width)
	s.write("/>\n")
}

// Line draws a line of straight pieces.
func (s *SVG) Line(l Line) {
	s.path(l.Points)
	s.write(`" fill="none"`)
	s.attr("stroke", paint(l.Stroke))
	s.measure("stroke-width", l.Width)
	if l.Dashed {
		s.attr("stroke-dasharray", "5 4")
	}
	s.write("/>\n")
}

// path begins a path of straight pieces.
func (s *SVG) path(points []Point) {
	for i, q := range points {
		lead := "L"
		if i == 0 {
			lead = `<path d="M`
		}
		s.write(lead)
		s.pair(q)
	}
}

// Polygon draws a filled area.
func (s *SVG) Polygon(p Polygon) {
	s.path(p.Points)
	s.write(`Z"`)
	s.fill(p.Fill)
	s.write("/>\n")
}

// Text draws a line of text.
func (s *SVG) Text(t Text) {
	face := typefaces[t.Font]
	s.write("<text")
	s.measure("x", t.X)
	s.measure("y", t.Y)
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
	s.measure("font-size", t.Size)
	s.attr("fill", paint(t.Fill))
	s.write(">")
	s.write(escape(t.Text))
	s.write("</text>\n")
}

// Group draws with a tooltip.
func (s *SVG) Group(tooltip string, draw func()) {
	if tooltip == "" {
		draw()
		return
	}
	s.write("<g><title>")
	s.write(escape(tooltip))
	s.write("</title>\n")
	draw()
	s.write("</g>\n")
}

func (s *SVG) attr(name, value string) {
	s.write(" ")
	s.write(name)
	s.write(`="`)
	s.write(value)
	s.write(`"`)
}

// measure is an attribute that is a number.
func (s *SVG) measure(name string, x float64) {
	s.write(" ")
	s.write(name)
	s.write(`="`)
	s.num(x)
	s.write(`"`)
}

func (s *SVG) write(text string) { s.body = append(s.body, text...) }

func (s *SVG) num(x float64) { s.body = appendNum(s.body, x) }

func (s *SVG) pair(p Point) {
	s.num(p.X)
	s.write(" ")
	s.num(p.Y)
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
	const digits = "0123456789abcdef"
	return string([]byte{'#', digits[c.R>>4], digits[c.R&15], digits[c.G>>4], digits[c.G&15], digits[c.B>>4], digits[c.B&15]})
}

// num is x with at most one decimal.
func num(x float64) string { return string(appendNum(nil, x)) }

func appendNum(b []byte, x float64) []byte {
	n := int64(math.Round(x * 10))
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendInt(b, n/10, 10)
	if n%10 != 0 {
		b = append(b, '.', '0'+byte(n%10))
	}
	return b
}

// escape makes s safe in XML text and attributes; what XML cannot hold at all
// becomes the replacement character.
func escape(s string) string {
	if !strings.ContainsFunc(s, special) {
		return s
	}
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

// special reports whether a rune cannot stand in XML text or attributes as it is.
func special(r rune) bool {
	return r == '&' || r == '<' || r == '>' || r == '"' || r < 0x20 && r != '\n' && r != '\t' || r >= 0xfffd
}
