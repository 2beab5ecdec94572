// Package canvas draws boxes, curves and text, on SVG or on pixels, with one
// set of fonts to measure both: the Go fonts, which every program carries.
// Lengths are CSS pixels; y grows downwards.
package canvas

import "image/color"

// Point is a position.
type Point struct{ X, Y float64 }

// Box is a rectangle with rounded corners. The stroke is drawn inside.
type Box struct {
	X, Y, W, H  float64
	Radius      float64
	Fill        color.NRGBA
	Stroke      color.NRGBA
	StrokeWidth float64 // 0: no stroke
	Dashed      bool
}

// Curve is a line along Bézier pieces: a start, then two control points and an
// end for each piece.
type Curve struct {
	Points []Point
	Stroke color.NRGBA
	Width  float64
}

// Line is a line of straight pieces.
type Line struct {
	Points []Point
	Stroke color.NRGBA
	Width  float64
	Dashed bool
}

// Polygon is a filled area.
type Polygon struct {
	Points []Point
	Fill   color.NRGBA
}

// Text is one line of text. Y is its baseline.
type Text struct {
	X, Y   float64
	Text   string
	Font   Font
	Size   float64
	Fill   color.NRGBA
	Anchor Anchor
}

// Anchor is which end of a text X stands for.
type Anchor uint8

// Anchors.
const (
	Start Anchor = iota
	Middle
	End
)

// Surface takes shapes; later ones cover earlier ones.
type Surface interface {
	Box(Box)
	Curve(Curve)
	Line(Line)
	Polygon(Polygon)
	Text(Text)
	// Group makes what draw draws one thing, explained by a tooltip.
	Group(tooltip string, draw func())
}

// Hex is the opaque colour of a number like 0xRRGGBB.
func Hex(rgb uint32) color.NRGBA {
	return color.NRGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 0xff}
}

// cubic is a Bézier piece at t in [0, 1].
func cubic(p, q, r, s Point, t float64) Point {
	u := 1 - t
	a, b, c, d := u*u*u, 3*u*u*t, 3*u*t*t, t*t*t
	return Point{a*p.X + b*q.X + c*r.X + d*s.X, a*p.Y + b*q.Y + c*r.Y + d*s.Y}
}

// straight reports whether a Bézier piece is a vertical or horizontal line.
func straight(p, q, r, s Point) bool {
	return p.X == q.X && q.X == r.X && r.X == s.X || p.Y == q.Y && q.Y == r.Y && r.Y == s.Y
}
