package chart

import (
	"math"

	"forgekernel/display/internal/canvas"
)

// room is what of an area of data is taken already, so that names find a place of their
// own. Positions are CSS pixels from its upper left corner.
type room struct {
	xs, ys scale
	boxes  []block
	lines  []stroke
}

// stroke is a piece of a line, and how bad it is to stand on it.
type stroke struct {
	from, to canvas.Point
	badness  float64
}

// block is a rectangle that something covers.
type block struct{ left, top, right, bottom float64 }

// Measures of names.
const (
	nameHeight = tickSize + 2
	nameGap    = 7 // between a point and its name
	pointReach = 5 // of a point, from its middle
	farther    = 6 // how many lines a name may be away from its place
)

// How bad it is to stand in the way. Being a line farther away is a quarter.
const (
	beyondEdge = 100.0
	overOther  = 10.0
	onLine     = 1.5
	onThinLine = 0.4
)

// room is that of a chart on axes with ends, on which works have their points.
func (c *Chart) room(works []Work) *room {
	r := &room{xs: c.X.scale(c.Width, nil), ys: c.Y.scale(c.Height, nil)}
	r.ys.reverse = true // upwards
	for _, w := range works {
		x, y := r.xs.at(w.Intensity()), r.ys.at(w.Rate())
		r.boxes = append(r.boxes, block{x - pointReach, y - pointReach, x + pointReach, y + pointReach})
	}
	return r
}

// line records a line through data.
func (r *room) line(data []Datum, badness float64) {
	for i := 1; i < len(data); i++ {
		a, b := data[i-1], data[i]
		r.lines = append(r.lines, stroke{canvas.Point{X: r.xs.at(a.X), Y: r.ys.at(a.Y)}, canvas.Point{X: r.xs.at(b.X), Y: r.ys.at(b.Y)}, badness})
	}
}

// taken records a text that begins at the left, around a height.
func (r *room) taken(left, middle, width float64) {
	r.boxes = append(r.boxes, name(left, middle, width))
}

func name(left, middle, width float64) block {
	return block{left, middle - nameHeight/2, left + width, middle + nameHeight/2}
}

// beside is a text beside a point of the data, at the first place of least crowding.
func (r *room) beside(x, y float64, text string) Datum {
	at, w := canvas.Point{X: r.xs.at(x), Y: r.ys.at(y)}, small(text)
	right, left, middle := at.X+nameGap, at.X-nameGap-w, at.X-w/2
	places := []canvas.Point{{X: right, Y: at.Y}}
	for i := 1.0; i <= farther; i++ {
		dy := i * nameHeight
		places = append(places, canvas.Point{X: right, Y: at.Y + dy}, canvas.Point{X: middle, Y: at.Y + dy},
			canvas.Point{X: middle, Y: at.Y - dy}, canvas.Point{X: right, Y: at.Y - dy})
		if i == 1 {
			places = append(places, canvas.Point{X: left, Y: at.Y})
		}
		places = append(places, canvas.Point{X: left, Y: at.Y + dy}, canvas.Point{X: left, Y: at.Y - dy})
	}
	return r.place(places, w, text)
}

// above is a text with its middle above a position.
func (r *room) above(d Datum, text string) Datum {
	w := small(text)
	return r.place([]canvas.Point{{X: r.xs.at(d.X) - w/2, Y: r.ys.at(d.Y) - nameHeight/2 - 1}}, w, text)
}

// under is a text with its middle at a position, or lines below it.
func (r *room) under(d Datum) Datum {
	x, w := r.xs.at(d.X), small(d.Text)
	var places []canvas.Point
	for i := range 8 {
		places = append(places, canvas.Point{X: x - w/2, Y: r.ys.at(d.Y) + float64(i)*nameHeight})
	}
	d.Y = r.place(places, w, d.Text).Y
	return d
}

// place takes the place where a text crowds least, and is nearest to the first one.
func (r *room) place(places []canvas.Point, w float64, text string) Datum {
	best, least := places[0], math.Inf(1)
	for _, p := range places {
		away := math.Abs(p.Y-places[0].Y) / nameHeight
		if crowd := r.crowd(name(p.X, p.Y, w)) + away/4; crowd < least {
			best, least = p, crowd
		}
	}
	r.taken(best.X, best.Y, w)
	return Datum{X: r.xs.from(best.X), Y: r.ys.from(best.Y), Text: text}
}

// crowd says how badly a name stands at a place: beyond the edge, over another one or a
// point, or on a line.
func (r *room) crowd(b block) (badness float64) {
	if b.left < 0 || b.right > r.xs.length || b.top < 0 || b.bottom > r.ys.length {
		badness += beyondEdge
	}
	for _, o := range r.boxes {
		if b.left < o.right+2 && o.left < b.right+2 && b.top < o.bottom && o.top < b.bottom {
			badness += overOther
		}
	}
	for _, l := range r.lines {
		if _, _, crosses := clipped(l.from, l.to, canvas.Point{X: b.left, Y: b.top}, canvas.Point{X: b.right, Y: b.bottom}); crosses {
			badness += l.badness
		}
	}
	return badness
}
