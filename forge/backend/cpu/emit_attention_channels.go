package cpu

import (
	"fmt"
	"strings"

	"forgekernel/forge/loop"
)

// channelsEmitter writes attention with channels across lanes for the rows of a key
// head: the queries of all its heads, query by query within a head. A weight stands
// at w[r * queryStep + j], for row r and key j.
type channelsEmitter struct{ *attentionEmitter }

// emit writes the functions and returns the number of units, key heads.
func (x *channelsEmitter) emit() int {
	a := x.a
	x.keyStep, x.queryStep = 1, x.target.whole(x.keys)
	x.averages(x.rows)
	if x.masks() {
		x.exclude()
	}
	x.group()
	x.Open("KERNEL void %s(%s)", x.name, x.params())
	defer x.Close()
	defer x.Close()
	units := x.units([]string{"b", "g"}, []int{a.Batches, a.Groups})
	x.Line("%s_group(%s, b, g);", x.name, x.pass())
	return units
}

// eachRow opens a loop over the rows, with the head and the query of each.
func (x *channelsEmitter) eachRow() {
	x.Open("for (long r = 0; r < %d; r++)", x.rows)
	x.Line("long h = g * %d + r / %d, i = r %% %d;", x.a.Heads/x.a.Groups, x.a.Queries, x.a.Queries)
}

// group writes the function for the rows of a key head.
func (x *channelsEmitter) group() {
	a, d, e := x.a, x.target.whole(x.a.D), x.target.whole(x.a.E)
	x.Open("KERNEL void %s_group(%s, long b, long g)", x.name, x.pointers())
	x.Line("float q[%d] __attribute__((aligned(64))), w[%d] __attribute__((aligned(64)));", x.rows*d, x.rows*x.queryStep)
	x.Line("float sums[%d] __attribute__((aligned(64))) = {0}, top[%d], total[%d] = {0}, factor[%d];", x.rows*e, x.rows, x.rows, x.rows)
	x.position()
	x.eachRow()
	x.Line("top[r] = -__builtin_inff();")
	for c := 0; c < a.D; c += x.target.Lanes {
		s := scope{vars: []string{"b", "h", "i", fmt.Sprint(c)}, lane: 3, part: x.target.part(a.D - c)}
		x.Line("store(q + r * %d + %d, %s);", d, c, x.load(s, a.Q))
	}
	x.Close()
	x.Line("long n = %s;", x.seen("0", fmt.Sprint(a.Queries)))
	x.Open("for (long from = 0; from < n; from += %d)", x.keys)
	x.checkStop()
	x.Line("long m = least(n - from, %d), j = 0;", x.keys)
	for _, rows := range []struct {
		name, kind string
		access     loop.Access
	}{{"k", "keys", a.K}, {"v", "values", a.V}} {
		if !x.paged(rows.access) {
			x.rowsOf(rows.name, rows.kind, rows.access)
		}
	}
	x.eachBlock("k", a.K, x.scores)
	x.weigh()
	x.eachBlock("v", a.V, func() {
		x.callAverages(x.rows, "sums", e, "w + base", "size")
		if x.paged(a.V) { // sums are scaled once
			x.Line("for (long r = 0; r < %d; r++) factor[r] = 1;", x.rows)
		}
	})
	x.Close()
	x.eachRow()
	x.result(fmt.Sprintf("sums + r * %d", e), x.share("set(total[r])"), "h", "i")
	x.Close()
	x.Close()
}

// eachBlock does something with all rows of K or V that belong to a block of keys:
// with size of them from number base on, which stand together.
func (x *channelsEmitter) eachBlock(name string, access loop.Access, body func()) {
	if !x.paged(access) {
		x.Open("")
		x.Line("const long base = 0, size = m;")
	} else {
		x.Open("for (long base = 0; base < m; base += %d)", x.a.Cache.Block)
		x.Line("const long size = least(m - base, %d);", x.a.Cache.Block)
		x.Line("const %s *%s = %s;", forms[x.rowElem(access)].elem, name, x.keyAt("(from + base)", "").at(access))
	}
	body()
	x.Close()
}

// scores computes those of all rows with size keys.
func (x *channelsEmitter) scores() {
	row, tall := 0, x.target.Lanes/4
	for tall > max(1, x.rows) {
		tall /= 2
	}
	for ; row < x.rows; tall = max(1, tall/2) {
		n := (x.rows - row) / tall
		if n == 0 {
			continue
		}
		keys := x.target.Lanes / tall
		x.Open("for (j = 0; j + %d <= size; j += %d)", keys, keys)
		x.Open("for (long r = %d; r < %d; r += %d)", row, row+n*tall, tall)
		x.scoreTile(tall, keys)
		x.Close()
		x.Close()
		x.Open("for (; j < size; j++)")
		x.Open("for (long r = %d; r < %d; r++)", row, row+n*tall)
		x.scoreTile(1, 1)
		x.Close()
		x.Close()
		row += n * tall
	}
}

// scoreTile computes the scores of some rows from r on with some keys from j on: a
// product in each lane of each pair's vector, then the sums over lanes of all
// pairs together.
func (x *channelsEmitter) scoreTile(rows, keys int) {
	a, lanes, step := x.a, x.target.Lanes, x.rowStep(x.a.K)
	for p := range rows * keys {
		x.Line("vf a%d = set(0);", p)
	}
	ahead := x.declareAhead(keys)
	products := func(at string, part int) {
		for r := range rows {
			x.Line("vf x%d = load(q + (r + %d) * %d + %s);", r, r, x.target.whole(a.D), at)
		}
		for u := range keys {
			from := fmt.Sprintf("k + (j + %d) * %d + %s", u, step, at)
			x.Line("{ vf y = %s;", x.row(a.K, from, part))
			for _, name := range ahead {
				x.Line("  __builtin_prefetch(%s%d + %s, 0, 3);", name, u, at)
			}
			for r := range rows {
				x.Line("  a%d = fma_(x%d, y, a%d);", r*keys+u, r, r*keys+u)
			}
			x.Line("}")
		}
	}
	if a.D >= lanes {
		x.Open("for (long d = 0; d < %d; d += %d)", a.D/lanes*lanes, lanes)
		products("d", 0)
		x.Close()
	}
	if a.D%lanes > 0 {
		x.Open("")
		products(fmt.Sprint(a.D/lanes*lanes), a.D%lanes)
		x.Close()
	}
	if rows*keys == 1 {
		x.Line("w[r * %d + base + j] = fold_sum_f32(a0)[0] * %s[0];", x.queryStep, literal(a.Scale))
		return
	}
	x.Line("vf s = %s * %s;", x.foldAll(rows*keys), literal(a.Scale))
	for r := range rows {
		x.Line("__builtin_memcpy(w + (r + %d) * %d + base + j, (float *)&s + %d, %d);", r, x.queryStep, r*keys, 4*keys)
	}
}

// declareAhead declares pointers to what a later block reads from memory in the
// place of each of the keys, and returns their names. The memory then works while
// this block is computed. Values that stand in one piece are asked for where they
// are used.
func (x *channelsEmitter) declareAhead(keys int) []string {
	var names []string
	for _, p := range []struct {
		name   string
		access loop.Access
		here   bool
	}{{"k", x.a.K, true}, {"v", x.a.V, x.gathers(x.a.V) || x.paged(x.a.V)}} {
		if !p.here {
			continue
		}
		names = append(names, "ahead_"+p.name)
		for u := range keys {
			key := fmt.Sprintf("least(from + base + j + %d, n - 1)", u+x.keys)
			x.Line("const %s *ahead_%s%d = %s;", forms[x.elems[p.access.Param]].elem, p.name, u, x.keyAt(key, "").at(p.access))
		}
	}
	return names
}

// foldAll is the vector of the sums over lanes of vectors a0, a1, …: as many as
// lanes. A level of the tree halves the lanes of two vectors into one, and so puts
// the sums in the order of the reversed bits of their numbers.
func (x *channelsEmitter) foldAll(n int) string {
	order := []int{0}
	for len(order) < n {
		for i, number := range order {
			order[i] = 2 * number
			order = append(order, 2*number+1)
		}
	}
	level := make([]string, n)
	for i, number := range order {
		level[i] = fmt.Sprintf("a%d", number)
	}
	for h := n / 2; h > 0; h /= 2 {
		var next []string
		for i := 0; i < len(level); i += 2 {
			next = append(next, fmt.Sprintf("halves(%s, %s, %d)", level[i], level[i+1], h))
		}
		level = next
	}
	return strings.Join(level, "")
}

// exclude writes the function that gives excluded keys of the row w a value. It also
// adds a mask of numbers, unless it only marks.
func (x *channelsEmitter) exclude() {
	a := x.a
	x.Open("KERNEL void %s_exclude(float *w, float value, int marks, %s, long b, long h, long i, long from, long m, long start)", x.name, x.pointers())
	if a.Mask == nil {
		x.Line("for (long j = most(0, start + i + 1 - from); j < m; j++) w[j] = value;")
		x.Close()
		return
	}
	mask := x.load(scope{vars: []string{"b", "h", "i", "(from + j)"}, lane: -1}, *a.Mask)
	x.Open("for (long j = 0; j < m; j++)")
	if x.kernel.MaskIsBool() {
		x.Line("if (!%s[0]) w[j] = value;", mask)
	} else {
		x.Line("float added = %s[0];", mask)
		x.Line("if (!marks) w[j] += added;")
		if !a.Strict {
			x.Line("if (added == -__builtin_inff()) w[j] = value;")
		}
	}
	x.Close()
	x.Close()
}

// callExclude excludes keys of row r.
func (x *channelsEmitter) callExclude(value string, marks int) {
	x.Line("%s_exclude(w + r * %d, %s, %d, %s, b, h, i, from, m, start);", x.name, x.queryStep, value, marks, x.pass())
}

// weigh turns the scores of all rows into weights relative to the largest so far.
// NaN is not the largest: it is in the total.
func (x *channelsEmitter) weigh() {
	lanes := x.target.Lanes
	x.eachRow()
	if x.masks() {
		x.callExclude("-__builtin_inff()", 0)
	}
	x.Line("float *s = w + r * %d;", x.queryStep)
	x.Line("for (j = m; j %% %d; j++) s[j] = -__builtin_inff();", lanes)
	x.Line("vf next = set(top[r]), sum = set(0);")
	x.Line("for (j = 0; j < m; j += %d) next = larger_(load(s + j), next);", lanes)
	x.Line("next = fold_top_f32(next);")
	x.Line("vf base = choose(next == -__builtin_inff(), set(0), next);")
	x.Line("for (j = 0; j < m; j += %d) { vf p = v_exp(load(s + j) - base); store(s + j, p); sum += p; }", lanes)
	x.Line("factor[r] = v_exp(set(top[r]) - base)[0];")
	x.Line("total[r] = total[r] * factor[r] + fold_sum_f32(sum)[0];")
	x.Line("top[r] = next[0];")
	x.Close()
	if x.excludes() {
		x.Line("int careful = 0;")
		if x.a.Mask == nil { // only the last keys may be excluded, from the first query
			x.Open("if (from + m > start + 1)")
		} else {
			x.Open("")
		}
		x.eachBlock("v", x.a.V, func() { x.Line("careful |= !%s_finite(v, size);", x.name) })
		x.Close()
		x.Open("if (careful)")
		x.eachRow()
		x.callExclude("-0.0f", 1)
		x.Close()
		x.Close()
	}
}
