package explain

import "forgekernel/forge/ir"

// hues colour lines of the source and everything that came from them, so that
// they can be told together where nothing can be chosen. Each is an edge and a
// soft ground that dark text reads well on.
var hues = []hue{
	{"#218bff", "#ddf0ff"}, {"#bf8700", "#fff3c4"}, {"#2da44e", "#dcf7e3"}, {"#cf4a9c", "#ffe3f3"},
	{"#e16f24", "#ffe8d8"}, {"#8250df", "#eee4ff"}, {"#1b9a8f", "#d8f5f1"}, {"#a0643c", "#f3e6dc"},
}

type hue struct{ edge, ground string }

// plain is the colour of what comes from no known place.
var plain = hue{"#afb8c1", "#eef1f4"}

// kinds colours by the kind of operator what comes from no source.
var kinds = map[ir.Class]hue{
	ir.Elementwise: hues[1], ir.Contraction: hues[4], ir.Reduction: hues[5], ir.Normalise: hues[5],
	ir.Movement: hues[6], ir.Fused: hues[3], ir.State: hues[0], ir.Transfer: hues[7],
}

// palette gives every line of the source that made anything a hue of its own,
// as far as there are enough. Without a source, hues tell kinds of operators.
type palette struct {
	lines  map[line]int
	places map[ir.Pos]int // numbers for the script
}

// line is a line of a source.
type line struct {
	source string
	number int
}

func newPalette() *palette {
	return &palette{lines: make(map[line]int), places: make(map[ir.Pos]int)}
}

// of is the hue of a value.
func (p *palette) of(m made) hue {
	switch {
	case len(m.places) > 0:
		return p.at(m.places[0])
	case len(p.lines) > 0 || m.input || m.class == ir.Constant:
		return plain
	}
	return kinds[m.class]
}

// at is the hue of a line of the source.
func (p *palette) at(pos ir.Pos) hue {
	at := line{pos.Source, pos.Line}
	i, known := p.lines[at]
	if !known {
		i = len(p.lines)
		p.lines[at] = i
	}
	return hues[i%len(hues)]
}

// legend says what the hues mean.
func (p *palette) legend() string {
	if len(p.lines) > 0 {
		return "lines of the source"
	}
	return "kinds of operators"
}

// number identifies a place.
func (p *palette) number(pos ir.Pos) int {
	i, known := p.places[pos]
	if !known {
		i = len(p.places)
		p.places[pos] = i
	}
	return i
}
