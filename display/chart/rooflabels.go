package chart

import "math"

// labelGap is how far the name of a work stands from its point, and roofGap how far it
// stays away from the top of a roof, in CSS pixels.
const (
	labelGap = 7
	roofGap  = 9
)

// names are the names of works beside their points: at the right, or at the left where a
// roof runs through that place.
func (c *Chart) names(roofs []Roof, works []Work) []Layer {
	right := Layer{Kind: Text, Colour: Ink, DX: labelGap}
	left := Layer{Kind: Text, Colour: Ink, Anchor: End, DX: -labelGap}
	p := c.placer(roofs)
	for _, w := range works {
		d := Datum{X: w.Intensity(), Y: w.Rate(), Text: short(w.Name)}
		if at := p.place(d, End); p.crossed(p.place(d, Start)) && !p.crossed(at) && at.from > 0 {
			left.Data = append(left.Data, p.lower(d, End))
			continue
		}
		d.Y = p.below(d.Y)
		right.Data = append(right.Data, p.lower(d, Start))
	}
	return []Layer{right, left}
}

// placer finds places for labels on the axes as they are, which no other label covers.
type placer struct {
	xs, ys scale
	roofs  []Roof
	taken  []place
}

// place is where a label stands, in CSS pixels from the lower left corner.
type place struct{ from, to, y float64 }

func (c *Chart) placer(roofs []Roof) *placer {
	return &placer{xs: c.X.scale(c.Width, nil), ys: c.Y.scale(c.Height, nil), roofs: roofs}
}

func (p *placer) place(d Datum, a Anchor) place {
	x, w := p.xs.at(d.X), small(d.Text)
	switch a {
	case Start:
		return place{x + labelGap, x + labelGap + w, p.ys.at(d.Y)}
	case End:
		return place{x - labelGap - w, x - labelGap, p.ys.at(d.Y)}
	}
	return place{x - w/2, x + w/2, p.ys.at(d.Y)}
}

// lower is d with its label moved down, a line at a time, until it covers no other.
func (p *placer) lower(d Datum, a Anchor) Datum {
	line := math.Pow(p.ys.max/p.ys.min, (tickSize+2)/p.ys.length)
	for tries := 0; tries < 8 && p.covers(p.place(d, a)); tries++ {
		d.Y /= line
	}
	p.taken = append(p.taken, p.place(d, a))
	return d
}

func (p *placer) covers(at place) bool {
	for _, t := range p.taken {
		if at.from < t.to+6 && at.to+6 > t.from && math.Abs(at.y-t.y) < tickSize+1 {
			return true
		}
	}
	return false
}

// crossed reports whether the slope of a roof, which rises to the right, runs through a
// place.
func (p *placer) crossed(at place) bool {
	for _, r := range p.roofs {
		low, high := p.roof(r, at.from), p.roof(r, at.to)
		if high-low > 1 && low-tickSize/2 < at.y && at.y < high+tickSize/2 {
			return true
		}
	}
	return false
}

// roof is the height of a roof at x, in CSS pixels.
func (p *placer) roof(r Roof, x float64) float64 {
	return p.ys.at(r.Limit(p.xs.min * math.Pow(p.xs.max/p.xs.min, x/p.xs.length)))
}

// below is where the name of a work stands: beside its point, but not on the top of a roof.
func (p *placer) below(rate float64) float64 {
	gap := roofGap * math.Log(p.ys.max/p.ys.min) / p.ys.length
	y := math.Log(rate)
	for _, r := range p.roofs {
		if top := math.Log(r.FLOPs); math.Abs(top-y) < gap {
			y = top - gap
		}
	}
	return math.Exp(y)
}
