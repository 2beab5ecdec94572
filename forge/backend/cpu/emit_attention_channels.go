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
	x.open("KERNEL void %s(%s)", x.name, x.params())
	defer x.close()
	defer x.close()
	units := x.units([]string{"b", "g"}, []int{a.Batches, a.Groups})
	x.line("%s_group(%s, b, g);", x.name, x.pass())
	return units
}

// eachRow opens a loop over the rows, with the head and the query of each.
func (x *channelsEmitter) eachRow() {
	x.open("for (long r = 0; r < %d; r++)", x.rows)
	x.line("long h = g * %d + r / %d, i = r %% %d;", x.a.Heads/x.a.Groups, x.a.Queries, x.a.Queries)
}

// group writes the function for the rows of a key head.
func (x *channelsEmitter) group() {
	a, d, e := x.a, x.target.whole(x.a.D), x.target.whole(x.a.E)
	x.open("KERNEL void %s_group(%s, long b, long g)", x.name, x.pointers())
	x.line("float q[%d] __attribute__((aligned(64))), w[%d] __attribute__((aligned(64)));", x.rows*d, x.rows*x.queryStep)
	x.line("float sums[%d] __attribute__((aligned(64))) = {0}, top[%d], total[%d] = {0}, factor[%d];", x.rows*e, x.rows, x.rows, x.rows)
	x.position()
	x.eachRow()
	x.line("top[r] = -__builtin_inff();")
	for c := 0; c < a.D; c += x.target.Lanes {
		s := scope{vars: []string{"b", "h", "i", fmt.Sprint(c)}, lane: 3, part: x.target.part(a.D - c)}
		x.line("store(q + r * %d + %d, %s);", d, c, x.load(s, a.Q))
	}
	x.close()
	x.line("long n = %s;", x.seen("0", fmt.Sprint(a.Queries)))
	x.open("for (long from = 0; from < n; from += %d)", x.keys)
	x.checkStop()
	x.line("long m = least(n - from, %d), j = 0;", x.keys)
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
			x.line("for (long r = 0; r < %d; r++) factor[r] = 1;", x.rows)
		}
	})
	x.close()
	x.eachRow()
	x.result(fmt.Sprintf("sums + r * %d", e), x.share("set(total[r])"), "h", "i")
	x.close()
	x.close()
}

// eachBlock does something with all rows of K or V that belong to a block of keys:
// with size of them from number base on, which stand together.
func (x *channelsEmitter) eachBlock(name string, access loop.Access, body func()) {
	if !x.paged(access) {
		x.open("")
		x.line("const long base = 0, size = m;")
	} else {
		x.open("for (long base = 0; base < m; base += %d)", x.a.Cache.Block)
		x.line("const long size = least(m - base, %d);", x.a.Cache.Block)
		x.line("const %s *%s = %s;", forms[x.rowElem(access)].elem, name, x.keyAt("(from + base)", "").at(access))
	}
	body()
	x.close()
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
		x.open("for (j = 0; j + %d <= size; j += %d)", keys, keys)
		x.open("for (long r = %d; r < %d; r += %d)", row, row+n*tall, tall)
		x.scoreTile(tall, keys)
		x.close()
		x.close()
		x.open("for (; j < size; j++)")
		x.open("for (long r = %d; r < %d; r++)", row, row+n*tall)
		x.scoreTile(1, 1)
		x.close()
		x.close()
		row += n * tall
	}
}

// scoreTile computes the scores of some rows from r on with some keys from j on: a
// product in each lane of each pair's vector, then the sums over lanes of all
// pairs together.
func (x *channelsEmitter) scoreTile(rows, keys int) {
	a, lanes, step := x.a, x.target.Lanes, x.rowStep(x.a.K)
	for p := range rows * keys {
		x.line("vf a%d = set(0);", p)
	}
	ahead := x.declareAhead(keys)
	products := func(at string, part int) {
		for r := range rows {
			x.line("vf x%d = load(q + (r + %d) * %d + %s);", r, r, x.target.whole(a.D), at)
		}
		for u := range keys {
			from := fmt.Sprintf("k + (j + %d) * %d + %s", u, step, at)
			x.line("{ vf y = %s;", x.row(a.K, from, part))
			for _, name := range ahead {
				x.line("  __builtin_prefetch(%s%d + %s, 0, 3);", name, u, at)
			}
			for r := range rows {
				x.line("  a%d = fma_(x%d, y, a%d);", r*keys+u, r, r*keys+u)
			}
			x.line("}")
		}
	}
	if a.D >= lanes {
		x.open("for (long d = 0; d < %d; d += %d)", a.D/lanes*lanes, lanes)
		products("d", 0)
		x.close()
	}
	if a.D%lanes > 0 {
		x.open("")
		products(fmt.Sprint(a.D/lanes*lanes), a.D%lanes)
		x.close()
	}
	if rows*keys == 1 {
		x.line("w[r * %d + base + j] = fold_sum_f32(a0)[0] * %s[0];", x.queryStep, literal(a.Scale))
		return
	}
	x.line("vf s = %s * %s;", x.foldAll(rows*keys), literal(a.Scale))
	for r := range rows {
		x.line("__builtin_memcpy(w + (r + %d) * %d + base + j, (float *)&s + %d, %d);", r, x.queryStep, r*keys, 4*keys)
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
			x.line("const %s *ahead_%s%d = %s;", forms[x.elems[p.access.Param]].elem, p.name, u, x.keyAt(key, "").at(p.access))
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
	x.open("KERNEL void %s_exclude(float *w, float value, int marks, %s, long b, long h, long i, long from, long m, long start)", x.name, x.pointers())
	if a.Mask == nil {
		x.line("for (long j = most(0, start + i + 1 - from); j < m; j++) w[j] = value;")
		x.close()
		return
	}
	mask := x.load(scope{vars: []string{"b", "h", "i", "(from + j)"}, lane: -1}, *a.Mask)
	x.open("for (long j = 0; j < m; j++)")
	if x.kernel.MaskIsBool() {
		x.line("if (!%s[0]) w[j] = value;", mask)
	} else {
		x.line("float added = %s[0];", mask)
		x.line("if (!marks) w[j] += added;")
		if !a.Strict {
			x.line("if (added == -__builtin_inff()) w[j] = value;")
		}
	}
	x.close()
	x.close()
}

// callExclude excludes keys of row r.
func (x *channelsEmitter) callExclude(value string, marks int) {
	x.line("%s_exclude(w + r * %d, %s, %d, %s, b, h, i, from, m, start);", x.name, x.queryStep, value, marks, x.pass())
}

// weigh turns the scores of all rows into weights relative to the largest so far.
// NaN is not the largest: it is in the total.
func (x *channelsEmitter) weigh() {
	lanes := x.target.Lanes
	x.eachRow()
	if x.masks() {
		x.callExclude("-__builtin_inff()", 0)
	}
	x.line("float *s = w + r * %d;", x.queryStep)
	x.line("for (j = m; j %% %d; j++) s[j] = -__builtin_inff();", lanes)
	x.line("vf next = set(top[r]), sum = set(0);")
	x.line("for (j = 0; j < m; j += %d) next = larger_(load(s + j), next);", lanes)
	x.line("next = fold_top_f32(next);")
	x.line("vf base = choose(next == -__builtin_inff(), set(0), next);")
	x.line("for (j = 0; j < m; j += %d) { vf p = v_exp(load(s + j) - base); store(s + j, p); sum += p; }", lanes)
	x.line("factor[r] = v_exp(set(top[r]) - base)[0];")
	x.line("total[r] = total[r] * factor[r] + fold_sum_f32(sum)[0];")
	x.line("top[r] = next[0];")
	x.close()
	if x.excludes() {
		x.line("int careful = 0;")
		if x.a.Mask == nil { // only the last keys may be excluded, from the first query
			x.open("if (from + m > start + 1)")
		} else {
			x.open("")
		}
		x.eachBlock("v", x.a.V, func() { x.line("careful |= !%s_finite(v, size);", x.name) })
		x.close()
		x.open("if (careful)")
		x.eachRow()
		x.callExclude("-0.0f", 1)
		x.close()
		x.close()
	}
}
