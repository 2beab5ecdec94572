package cpu

import "fmt"

// averageTile is a register tile of results: queries by vectors of channels.
type averageTile struct{ rows, at, width int }

// name is that of the tile's function.
func (x *attentionEmitter) averageName(t averageTile, careful bool) string {
	kind := "average"
	if careful {
		kind = "pick"
	}
	return fmt.Sprintf("%s_%s_%dx%d_%d", x.name, kind, t.rows, t.width, x.partOf(t))
}

// partOf is how many lanes of the tile's last vector there are; 0 means all.
func (x *attentionEmitter) partOf(t averageTile) int {
	return x.target.part(x.a.E - (t.at+t.width-1)*x.target.Lanes)
}

// tiles cuts the results of some queries. Those of equal channels follow one
// another. Careful tiles are single vectors, as they are not meant to be quick.
func (x *attentionEmitter) tiles(rows int, careful bool) []averageTile {
	var list []averageTile
	at, widest := 0, x.target.Registers/8
	if careful {
		widest = 1
	}
	for _, width := range even(x.target.vectors(x.a.E), widest).parts() {
		tall := 4
		switch {
		case careful:
			tall = 1
		case width*8+width < x.target.Registers-1:
			tall = 8
		}
		for row := 0; row < rows; row += tall {
			list = append(list, averageTile{min(tall, rows-row), at, width})
		}
		at += width
	}
	return list
}

// averages writes the functions of tiles for any of the numbers of queries.
func (x *attentionEmitter) averages(rows ...int) {
	written := make(map[string]bool)
	for _, careful := range []bool{false, true} {
		if careful && !x.excludes() {
			return
		}
		for _, n := range rows {
			for _, t := range x.tiles(n, careful) {
				if name := x.averageName(t, careful); !written[name] {
					written[name] = true
					x.average(name, t, careful)
				}
			}
		}
	}
}

// average writes the function that adds m values, weighted, to a tile of sums that
// it scales before, or when one block is all, writes the sums scaled. A careful
// one leaves out values whose weight is marked.
func (x *attentionEmitter) average(name string, t averageTile, careful bool) {
	lanes := x.target.Lanes
	step := x.target.whole(x.a.E)
	if x.once {
		step = x.a.Out.Strides[2]
	}
	x.Open("KERNEL void %s(float *restrict sums, const float *restrict w, const %s *restrict v, const float *restrict factor, long m)", name, forms[x.rowElem(x.a.V)].elem)
	for r := range t.rows {
		for c := range t.width {
			if x.once {
				x.Line("vf c%d_%d = set(0);", r, c)
			} else {
				x.Line("vf c%d_%d = load(sums + %d) * set(factor[%d]);", r, c, r*step+c*lanes, r)
			}
		}
	}
	x.Open("for (long j = 0; j < m; j++)")
	for c := range t.width {
		x.Line("vf v%d = %s; PIN(v%d);", c, x.values(c*lanes, x.columnPart(t, c)), c)
		if x.channels && !x.gathers(x.a.V) && !x.paged(x.a.V) {
			x.Line("__builtin_prefetch(v + (j + %d) * %d + %d, 0, 3);", x.keys, x.rowStep(x.a.V), c*lanes)
		}
	}
	for r := range t.rows {
		weight := fmt.Sprintf("w[j * %d + %d]", x.keyStep, r*x.queryStep)
		if careful {
			x.Open("if (!marked(%s))", weight)
		} else {
			x.Open("")
		}
		x.Line("vf x = set(%s);", weight)
		for c := range t.width {
			x.Line("c%d_%d = fma_(x, v%d, c%d_%d);", r, c, c, r, c)
		}
		x.Close()
	}
	x.Close()
	for r := range t.rows {
		for c := range t.width {
			to := fmt.Sprintf("sums + %d", r*step+c*lanes)
			switch part := x.columnPart(t, c); {
			case !x.once:
				x.Line("store(%s, c%d_%d);", to, r, c)
			case part > 0:
				x.Line("store_part(%s, c%d_%d * set(factor[%d]), %d);", to, r, c, r, part)
			default:
				x.Line("store(%s, c%d_%d * set(factor[%d]));", to, r, c, r)
			}
		}
	}
	x.Close()
}

func (x *attentionEmitter) columnPart(t averageTile, c int) int {
	if c < t.width-1 {
		return 0
	}
	return x.partOf(t)
}

// callAverages calls the tiles of some queries, equal ones in a loop, on so many
// values. sums is where the results stand and step the distance of their rows.
func (x *attentionEmitter) callAverages(rows int, sums string, step int, weights, values string) {
	call := func(careful bool) {
		list := x.tiles(rows, careful)
		for i, row := 0, 0; i < len(list); {
			t := list[i]
			n := 1
			for i+n < len(list) && list[i+n] == t {
				n++
			}
			column := t.at * x.target.Lanes
			x.Line("for (long r = %d; r < %d; r += %d) %s(%s + r * %d + %d, %s + r * %d, v + %d, factor + r, %s);",
				row, row+n*t.rows, t.rows, x.averageName(t, careful), sums, step, column, weights, x.queryStep, column, values)
			if row += n * t.rows; row == rows {
				row = 0
			}
			i += n
		}
	}
	if !x.excludes() {
		call(false)
		return
	}
	x.Open("if (careful)")
	call(true)
	x.Close()
	x.Open("else")
	call(false)
	x.Close()
}

// result writes the sums of query i of head h, scaled; zeros where it is padding.
func (x *attentionEmitter) result(sums, factor, h, i string) {
	x.Line("vf f = %s;", factor)
	for c := 0; c < x.a.E; c += x.target.Lanes {
		s := scope{vars: []string{"b", h, i, fmt.Sprint(c)}, lane: 3, part: x.target.part(x.a.E - c)}
		value := fmt.Sprintf("load(%s + %d) * f", sums, c)
		if x.a.Cache != nil && x.a.Cache.Length != nil {
			value = fmt.Sprintf("(%s < count ? %s : set(0))", i, value)
		}
		x.store(s, x.a.Out, value)
	}
}
