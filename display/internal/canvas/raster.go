package canvas

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Raster is a surface of pixels, drawn with antialiasing.
type Raster struct {
	img   *image.RGBA
	scale float64
	faces map[faceKey]font.Face
	fill  vector.Rasterizer
}

type faceKey struct {
	font Font
	size float64
}

// NewRaster makes a transparent surface of w by h CSS pixels with scale pixels
// to each.
func NewRaster(w, h, scale float64) *Raster {
	size := image.Rect(0, 0, max(1, int(math.Ceil(w*scale))), max(1, int(math.Ceil(h*scale))))
	return &Raster{img: image.NewRGBA(size), scale: scale, faces: map[faceKey]font.Face{}}
}

// PNG encodes the surface, in at most 256 colours: a drawing has few but for
// the smoothed edges, and an image with a palette is a tenth of the size.
func (r *Raster) PNG() ([]byte, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, quantise(r.img)); err != nil {
		return nil, fmt.Errorf("encode PNG: %w", err)
	}
	return b.Bytes(), nil
}

// Box draws a rectangle.
func (r *Raster) Box(b Box) {
	outer := roundedRect(b.X, b.Y, b.W, b.H, b.Radius)
	if b.StrokeWidth == 0 {
		r.paint(b.Fill, outer)
		return
	}
	w := b.StrokeWidth
	inner := roundedRect(b.X+w, b.Y+w, b.W-2*w, b.H-2*w, max(0, b.Radius-w))
	r.paint(b.Fill, inner)
	if !b.Dashed {
		r.paint(b.Stroke, outer, reversed(inner))
		return
	}
	in := w / 2
	for _, dash := range dashes(closed(roundedRect(b.X+in, b.Y+in, b.W-w, b.H-w, max(0, b.Radius-in))), 5, 4) {
		r.paint(b.Stroke, stroke(dash, w))
	}
}

// Curve draws a line. A long one is drawn in parts: the pixels touched are
// those of a part's bounding box.
func (r *Raster) Curve(c Curve) {
	const largest = 1 << 18 // pixels of one part
	for rest := c.Points; len(rest) >= 4; {
		n := 4
		for n+3 <= len(rest) && r.pixels(rest[:n+3]) <= largest {
			n += 3
		}
		r.paint(c.Stroke, stroke(flatten(rest[:n]), c.Width))
		rest = rest[n-1:]
	}
}

// Line draws a line of straight pieces, each as long as to fill the corners.
func (r *Raster) Line(l Line) {
	pieces := [][]Point{l.Points}
	if l.Dashed {
		pieces = dashes(l.Points, 5, 4)
	}
	for _, piece := range pieces {
		for i := 1; i < len(piece); i++ {
			a, b := piece[i-1], piece[i]
			d := math.Hypot(b.X-a.X, b.Y-a.Y)
			if d == 0 {
				continue
			}
			dx, dy := (b.X-a.X)/d*l.Width/2, (b.Y-a.Y)/d*l.Width/2
			if i > 1 {
				a = Point{a.X - dx, a.Y - dy}
			}
			if i+1 < len(piece) {
				b = Point{b.X + dx, b.Y + dy}
			}
			r.paint(l.Stroke, []Point{{a.X - dy, a.Y + dx}, {b.X - dy, b.Y + dx}, {b.X + dy, b.Y - dx}, {a.X + dy, a.Y - dx}})
		}
	}
}

func (r *Raster) pixels(points []Point) float64 {
	lo, hi := bounds(points)
	return (hi.X - lo.X + 1) * (hi.Y - lo.Y + 1) * r.scale * r.scale
}

func bounds(points []Point) (lo, hi Point) {
	lo, hi = points[0], points[0]
	for _, p := range points {
		lo = Point{min(lo.X, p.X), min(lo.Y, p.Y)}
		hi = Point{max(hi.X, p.X), max(hi.Y, p.Y)}
	}
	return lo, hi
}

// Polygon draws a filled area.
func (r *Raster) Polygon(p Polygon) { r.paint(p.Fill, p.Points) }

// Group draws; pixels have no tooltips.
func (r *Raster) Group(_ string, draw func()) { draw() }

// Text draws a line of text.
func (r *Raster) Text(t Text) {
	key := faceKey{t.Font, t.Size}
	face := r.faces[key]
	if face == nil {
		var err error
		face, err = opentype.NewFace(parsed[t.Font]().Font, &opentype.FaceOptions{Size: t.Size * r.scale, DPI: 72, Hinting: font.HintingNone})
		if err != nil {
			panic("canvas: " + err.Error()) // the embedded fonts scale to any size
		}
		r.faces[key] = face
	}
	x := t.X
	switch t.Anchor {
	case Middle:
		x -= Width(t.Text, t.Font, t.Size) / 2
	case End:
		x -= Width(t.Text, t.Font, t.Size)
	}
	d := font.Drawer{Dst: r.img, Src: image.NewUniform(t.Fill), Face: face, Dot: fixed.Point26_6{
		X: fixed.Int26_6(x * r.scale * 64), Y: fixed.Int26_6(t.Y * r.scale * 64),
	}}
	d.DrawString(t.Text)
}

// paint fills closed outlines; one inside another of opposite direction is a
// hole. Only the pixels around the outlines are touched.
func (r *Raster) paint(c color.NRGBA, outlines ...[]Point) {
	if c.A == 0 || len(outlines[0]) == 0 {
		return
	}
	lo, hi := bounds(outlines[0])
	area := image.Rect(int(math.Floor(lo.X*r.scale)), int(math.Floor(lo.Y*r.scale)),
		int(math.Ceil(hi.X*r.scale)), int(math.Ceil(hi.Y*r.scale))).Intersect(r.img.Bounds())
	if area.Empty() {
		return
	}
	at := func(p Point) (x, y float32) {
		return float32(p.X*r.scale - float64(area.Min.X)), float32(p.Y*r.scale - float64(area.Min.Y))
	}
	r.fill.Reset(area.Dx(), area.Dy())
	for _, o := range outlines {
		r.fill.MoveTo(at(o[0]))
		for _, p := range o[1:] {
			r.fill.LineTo(at(p))
		}
		r.fill.ClosePath()
	}
	r.fill.DrawOp = draw.Over
	r.fill.Draw(r.img, area, image.NewUniform(c), image.Point{})
}

// roundedRect is the outline of a rectangle, clockwise.
func roundedRect(x, y, w, h, radius float64) []Point {
	radius = min(radius, w/2, h/2)
	if radius <= 0 {
		return []Point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}
	}
	const steps = 8 // per corner
	var out []Point
	corner := func(cx, cy, from float64) {
		for i := range steps + 1 {
			a := from + math.Pi/2*float64(i)/steps
			out = append(out, Point{cx + radius*math.Cos(a), cy + radius*math.Sin(a)})
		}
	}
	corner(x+w-radius, y+radius, -math.Pi/2)
	corner(x+w-radius, y+h-radius, 0)
	corner(x+radius, y+h-radius, math.Pi/2)
	corner(x+radius, y+radius, math.Pi)
	return out
}

func reversed(points []Point) []Point {
	out := make([]Point, len(points))
	for i, p := range points {
		out[len(points)-1-i] = p
	}
	return out
}

func closed(points []Point) []Point { return append(points, points[0]) }

// flatten turns Bézier pieces into a line of points.
func flatten(c []Point) []Point {
	out := []Point{c[0]}
	for i := 0; i+3 < len(c); i += 3 {
		p, q, r, s := c[i], c[i+1], c[i+2], c[i+3]
		if straight(p, q, r, s) {
			out = append(out, s)
			continue
		}
		length := math.Hypot(q.X-p.X, q.Y-p.Y) + math.Hypot(r.X-q.X, r.Y-q.Y) + math.Hypot(s.X-r.X, s.Y-r.Y)
		steps := int(max(8, min(64, length/3)))
		for j := 1; j <= steps; j++ {
			out = append(out, cubic(p, q, r, s, float64(j)/float64(steps)))
		}
	}
	return out
}

// stroke is the outline of a line of the given width with flat ends. Lines
// here turn gently, so the offsets on both sides make a simple polygon.
func stroke(line []Point, width float64) []Point {
	n := len(line)
	left, right := make([]Point, 0, 2*n), make([]Point, 0, n)
	for i, p := range line {
		a, b := line[max(0, i-1)], line[min(n-1, i+1)]
		d := math.Hypot(b.X-a.X, b.Y-a.Y)
		if d == 0 {
			continue
		}
		nx, ny := -(b.Y-a.Y)/d*width/2, (b.X-a.X)/d*width/2
		left = append(left, Point{p.X + nx, p.Y + ny})
		right = append(right, Point{p.X - nx, p.Y - ny})
	}
	return append(left, reversed(right)...)
}

// dashes cuts a line into pieces of length on, with gaps of length off.
func dashes(line []Point, on, off float64) [][]Point {
	var out [][]Point
	dash, left, drawing := []Point{line[0]}, on, true
	for i := 1; i < len(line); i++ {
		p, q := line[i-1], line[i]
		d := math.Hypot(q.X-p.X, q.Y-p.Y)
		for d > left {
			p = Point{p.X + (q.X-p.X)*left/d, p.Y + (q.Y-p.Y)*left/d}
			d -= left
			if drawing {
				out = append(out, append(dash, p))
				left = off
			} else {
				dash, left = []Point{p}, on
			}
			drawing = !drawing
		}
		left -= d
		if drawing {
			dash = append(dash, q)
		}
	}
	if drawing && len(dash) > 1 {
		out = append(out, dash)
	}
	return out
}
