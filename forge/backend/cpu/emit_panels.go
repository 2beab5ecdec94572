package cpu

import "fmt"

// kind is a register tile and the panels, in the order of the loop, that it is for.
type kind struct {
	variant
	from, to int
}

// kinds are the tiles that all panels need: mostly one for all but the last one,
// which has fewer vectors, or only a part of one.
func (x *contractionEmitter) kinds() []kind {
	vectors, ragged := x.target.vectors(x.c.N), x.c.N%x.target.Lanes
	if x.cut.fold != (fold{}) {
		vectors, ragged = x.c.N/x.target.Lanes, 0
	}
	panels := (vectors + x.cut.vector - 1) / x.cut.vector
	rest := vectors - (panels-1)*x.cut.vector
	whole, last := variant{x.cut.rows, x.cut.vector, 0}, variant{x.cut.rows, rest, ragged}
	var list []kind
	add := func(v variant, from, to int) {
		if n := len(list); n > 0 && list[n-1].variant == v {
			list[n-1].to = to
		} else if from < to {
			list = append(list, kind{v, from, to})
		}
	}
	if x.cut.spread && rest < x.cut.vector { // the last vector of all is in the last panel but one
		ragged := whole
		ragged.part, last.part = last.part, 0
		add(whole, 0, panels-2)
		add(ragged, panels-2, panels-1)
	} else {
		add(whole, 0, panels-1)
	}
	if vectors > 0 {
		add(last, panels-1, panels)
	}
	if x.cut.fold != (fold{}) {
		add(variant{x.cut.rows, 0, x.cut.fold.columns(x.target.Lanes)}, panels, panels+1)
	}
	return list
}

// eachKind writes what is done in the panels of each kind.
func (x *contractionEmitter) eachKind(kinds []kind, body func(v variant)) {
	for _, k := range kinds {
		if len(kinds) == 1 {
			body(k.variant)
			return
		}
		x.Open("if (panel >= %d && panel < %d)", k.from, k.to)
		body(k.variant)
		x.Close()
	}
}

// pace is the number of vectors from the beginning of a panel to that of the next.
func (x *contractionEmitter) pace() int {
	if x.cut.spread {
		return 1
	}
	return x.cut.vector
}

// column is the first column of vector j of a panel, counted in vectors from the
// first of all. The vectors of a panel lie side by side, or so far apart that each
// goes through a part of the matrix of its own.
func (x *contractionEmitter) column(j int) int {
	if !x.cut.spread {
		return j
	}
	parts := even(x.target.vectors(x.c.N), (x.target.vectors(x.c.N)+x.cut.vector-1)/x.cut.vector)
	return j*parts.large - max(0, j-parts.first)
}

// panelStep is the distance between packed panels of one vector.
func (x *contractionEmitter) panelStep() int {
	return x.c.K*x.target.Lanes + panelGap(x.weight)
}

// panelAt is where the panel of a unit begins.
func (x *contractionEmitter) panelAt() string {
	if x.packed == nil {
		return x.over("0", "c").at(x.c.B)
	}
	text := fmt.Sprintf("p%d + panel * %d", x.c.B.Param, x.pace()*x.panelStep())
	for i, step := range x.packed {
		if step != 0 {
			text += fmt.Sprintf(" + i%d * %d", i, step)
		}
	}
	return text
}

// panelElem is the C type of the elements of a panel.
func (x *contractionEmitter) panelElem() string {
	if x.cut.copied {
		return forms[x.elemOf()].elem
	}
	return forms[x.weight].elem
}

// copies copies the panel of a unit as numbers that are computed with.
func (x *contractionEmitter) copies(kinds []kind, from string) {
	x.Open("")
	x.Line("const %s *b = %s;", forms[x.weight].elem, from)
	x.eachKind(kinds, func(v variant) {
		x.Open("for (long k = 0; k < %d; k++)", x.c.K)
		for j := range v.vectors {
			x.Line("store_%s(copy + k * %d + %d, %s);", x.suffix, v.vectors*x.target.Lanes, j*x.target.Lanes, x.vectorOf(v, j, "k"))
		}
		x.Close()
	})
	x.Close()
}

// vectorOf is vector j of row k of the panel of B that b points to, packed or where
// it stands.
func (x *contractionEmitter) vectorOf(v variant, j int, k string) string {
	m := len(x.batch)
	if x.packed != nil {
		return fmt.Sprintf("load_%v(b + %s * %d + %d)", x.weight, k, x.target.Lanes, x.column(j)*x.panelStep())
	}
	at := fmt.Sprintf("b + %s * %d + %d", k, x.c.B.Strides[m], j*x.target.Lanes*x.c.B.Strides[m+1])
	part := 0
	if j == v.vectors-1 {
		part = v.part
	}
	switch step := x.c.B.Strides[m+1]; {
	case step != 1:
		return fmt.Sprintf("load_strided_%v(%s, %d, %d)", x.weight, at, step, x.lanes(scope{part: part}))
	case part > 0:
		return fmt.Sprintf("load_part_%v(%s, %d)", x.weight, at, part)
	}
	return fmt.Sprintf("load_%v(%s)", x.weight, at)
}

// fetch asks for what a streamed matrix has some rows further on.
func (x *contractionEmitter) fetch(v variant, k string) {
	if !x.cut.spread || x.c.M <= fetchedRows {
		return
	}
	for j := range v.vectors {
		x.Line("__builtin_prefetch(b + %s * %d + %d);", k, x.target.Lanes, x.column(j)*x.panelStep()+fetchedAhead/x.weight.Size())
	}
}
