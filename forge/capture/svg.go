package capture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// svgCanvas draws plots as SVG with presentation attributes. The library's own
// writes style attributes, which pages that show untrusted pictures remove, and
// names fonts without a substitute.
//
// As in all of package vg, y points up: everything stands in a group that turns
// it down, and text is turned back.
type svgCanvas struct {
	body  strings.Builder
	w, h  vg.Length
	label string
	state svgState
	saved []svgState
}

// svgState is what Push saves.
type svgState struct {
	colour color.NRGBA
	width  vg.Length
	dash   []vg.Length
	offset vg.Length
	groups int // opened by transforms since the last Push
}

func newSVG(w, h vg.Length, label string) *svgCanvas {
	return &svgCanvas{w: w, h: h, label: label, state: svgState{colour: color.NRGBA{A: 0xff}, width: 1}}
}

// Size implements [vg.CanvasSizer].
func (s *svgCanvas) Size() (w, h vg.Length) { return s.w, s.h }

// document is the finished drawing.
func (s *svgCanvas) document() string {
	for len(s.saved) > 0 {
		s.Pop()
	}
	s.close()
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" aria-label="%s"><g transform="translate(0,%s) scale(1,-1)">`,
		number(s.w/pixel), number(s.h/pixel), number(s.w), number(s.h), html.EscapeString(s.label), number(s.h)) + s.body.String() + "</g></svg>"
}

// number writes a length with two decimals at most.
func number(x vg.Length) string {
	return strconv.FormatFloat(math.Round(float64(x)*100)/100+0, 'f', -1, 64)
}

func (s *svgCanvas) SetLineWidth(w vg.Length) { s.state.width = w }

func (s *svgCanvas) SetLineDash(pattern []vg.Length, offset vg.Length) {
	s.state.dash, s.state.offset = pattern, offset
}

func (s *svgCanvas) SetColor(c color.Color) {
	if c == nil {
		c = color.Black
	}
	s.state.colour = color.NRGBAModel.Convert(c).(color.NRGBA)
}

func (s *svgCanvas) transform(format string, args ...any) {
	fmt.Fprintf(&s.body, `<g transform="`+format+`">`, args...)
	s.state.groups++
}

func (s *svgCanvas) Rotate(angle float64) {
	s.transform("rotate(%s)", number(vg.Length(angle*180/math.Pi)))
}

func (s *svgCanvas) Translate(p vg.Point) { s.transform("translate(%s,%s)", number(p.X), number(p.Y)) }

func (s *svgCanvas) Scale(x, y float64) {
	s.transform("scale(%s,%s)", number(vg.Length(x)), number(vg.Length(y)))
}

func (s *svgCanvas) Push() {
	s.saved = append(s.saved, s.state)
	s.state.groups = 0
}

func (s *svgCanvas) Pop() {
	s.close()
	s.state = s.saved[len(s.saved)-1]
	s.saved = s.saved[:len(s.saved)-1]
}

// close ends the groups since the last Push.
func (s *svgCanvas) close() {
	s.body.WriteString(strings.Repeat("</g>", s.state.groups))
	s.state.groups = 0
}

func (s *svgCanvas) Stroke(p vg.Path) {
	if s.state.width <= 0 {
		return
	}
	fmt.Fprintf(&s.body, `<path d="%s" fill="none" %s stroke-width="%s"`, pathData(p), s.paint("stroke"), number(s.state.width))
	if len(s.state.dash) > 0 {
		dashes := make([]string, len(s.state.dash))
		for i, d := range s.state.dash {
			dashes[i] = number(d)
		}
		fmt.Fprintf(&s.body, ` stroke-dasharray="%s" stroke-dashoffset="%s"`, strings.Join(dashes, ","), number(s.state.offset))
	}
	s.body.WriteString("/>")
}

func (s *svgCanvas) Fill(p vg.Path) {
	fmt.Fprintf(&s.body, `<path d="%s" %s/>`, pathData(p), s.paint("fill"))
}

// paint is the colour as attributes of a stroke or a fill.
func (s *svgCanvas) paint(what string) string {
	c := s.state.colour
	text := fmt.Sprintf(`%s="#%02x%02x%02x"`, what, c.R, c.G, c.B)
	if c.A < 0xff {
		text += fmt.Sprintf(` %s-opacity="%.2f"`, what, float64(c.A)/0xff)
	}
	return text
}

// fonts are the families of text, of which the last is everywhere.
const fonts = "Liberation Sans, Arial, Helvetica, sans-serif"

func (s *svgCanvas) FillString(f font.Face, at vg.Point, text string) {
	if f.Font.Size == 0 {
		return
	}
	fmt.Fprintf(&s.body, `<text x="%s" y="%s" transform="scale(1,-1)" font-family="%s" font-size="%s" %s>%s</text>`,
		number(at.X), number(-at.Y), fonts, number(f.Font.Size), s.paint("fill"), html.EscapeString(text))
}

func (s *svgCanvas) DrawImage(r vg.Rectangle, img image.Image) {
	var b bytes.Buffer
	if png.Encode(&b, img) != nil {
		return // only an image without pixels or of more than 4 GiB
	}
	size := r.Size()
	fmt.Fprintf(&s.body, `<image x="%s" y="%s" width="%s" height="%s" transform="scale(1,-1)" href="data:image/png;base64,%s"/>`,
		number(r.Min.X), number(-r.Max.Y), number(size.X), number(size.Y), base64.StdEncoding.EncodeToString(b.Bytes()))
}

// pathData is a path in SVG's language.
func pathData(p vg.Path) string {
	var b strings.Builder
	point := func(q vg.Point) string { return number(q.X) + "," + number(q.Y) }
	for i, c := range p {
		switch c.Type {
		case vg.MoveComp:
			b.WriteString("M" + point(c.Pos))
		case vg.LineComp:
			b.WriteString("L" + point(c.Pos))
		case vg.CurveComp:
			b.WriteString(string(" QC"[len(c.Control)]))
			for _, q := range c.Control {
				b.WriteString(point(q) + " ")
			}
			b.WriteString(point(c.Pos))
		case vg.ArcComp:
			b.WriteString(arcData(c, i == 0))
		case vg.CloseComp:
			b.WriteString("Z")
		}
	}
	return b.String()
}

// arcData draws an arc in two halves, since SVG knows no full circle.
func arcData(c vg.PathComp, first bool) string {
	on := func(angle float64) string {
		return number(c.Pos.X+c.Radius*vg.Length(math.Cos(angle))) + "," + number(c.Pos.Y+c.Radius*vg.Length(math.Sin(angle)))
	}
	command, sweep := "L", 0
	if first {
		command = "M"
	}
	if c.Angle > 0 {
		sweep = 1
	}
	radius := number(c.Radius)
	return fmt.Sprintf("%s%sA%s,%s 0 0 %d %sA%s,%s 0 0 %d %s", command, on(c.Start),
		radius, radius, sweep, on(c.Start+c.Angle/2), radius, radius, sweep, on(c.Start+c.Angle))
}
