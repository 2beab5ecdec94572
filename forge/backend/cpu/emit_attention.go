package cpu

import (
	"cmp"
	"fmt"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// Attention has two schedules. Keys are taken in blocks in both; with more than one
// block the softmax is online: what stands so far is scaled down when a larger
// score comes. So temporaries do not grow with the number of keys.
//
//   - Queries across lanes, where a head has at least half a vector of them: scores
//     stand with the keys down, so that the softmax has no fold over lanes.
//   - Channels across lanes, for fewer, as in decoding: the queries of all heads
//     that share a key head are done together, so that keys and values are read
//     from memory once.
//
// With one block of keys a result is scaled as it is stored. With more, sums of
// values weighted relative to the largest score so far stand in memory, and may
// overflow where values are within a factor of the number of keys from the largest
// float.
const (
	// shortKeys is the most keys that are one block.
	shortKeys = 128
	// longBlock is the keys of a block where there are more.
	longBlock = 64
	// attentionBytes bounds the temporaries, which stand on the stack.
	attentionBytes = 512 << 10
)

// attentionPlan is the schedule of one attention.
type attentionPlan struct {
	channels bool // lie across the lanes
	rows     int  // queries that are done together
	keys     int  // in a block
	once     bool // one block is all
	bytes    int  // of temporaries
}

func (p attentionPlan) String() string {
	kind := "queries"
	if p.channels {
		kind = "channels"
	}
	blocks := fmt.Sprintf("%d keys at a time", p.keys)
	if p.once {
		blocks = "all keys at once"
	}
	return fmt.Sprintf("%s across lanes, %d queries by %s, %d KiB of temporaries", kind, p.rows, blocks, (p.bytes+1023)>>10)
}

// planAttention picks the schedule: channels across lanes where a head has few
// queries and those of a key head fit the bound of temporaries, else as many
// queries at a time as fit, by blocks of as many keys as are asked for; 0 leaves
// that to it.
func (t Target) planAttention(k *loop.Kernel, keys int) attentionPlan {
	a := k.Attention
	p := attentionPlan{channels: true, keys: longBlock, rows: a.Queries * a.Heads / max(1, a.Groups)}
	if a.Cache != nil && a.Cache.Table != nil && a.Cache.Block < longBlock { // whole blocks of the cache
		p.keys -= longBlock % a.Cache.Block
	}
	if p.bytes = t.temporaries(a, p); 2*a.Queries < t.Lanes && p.bytes <= attentionBytes {
		return p
	}
	p.channels = false
	single := k.Params[a.Out.Param].DType() == tensor.F32
	p.keys = cmp.Or(keys, longBlock)
	if p.once = a.Keys <= cmp.Or(keys, shortKeys) && a.Cache == nil && single; p.once {
		p.keys = max(1, a.Keys)
	}
	vectors := (a.Queries + t.Lanes - 1) / t.Lanes
	p.rows = even(vectors, t.Registers/8).large * t.Lanes
	for p.bytes = t.temporaries(a, p); p.bytes > attentionBytes && p.rows > t.Lanes; p.bytes = t.temporaries(a, p) {
		p.rows -= t.Lanes
	}
	if keys > 0 && p.bytes > attentionBytes {
		return t.planAttention(k, 0)
	}
	return p
}

// temporaries is the bytes of the queries that are done together, their weights and
// sums, and of a block of keys and values.
func (t Target) temporaries(a *loop.Attention, p attentionPlan) int {
	channels := t.whole(a.D) + t.whole(a.E)
	return 4 * (p.rows*(channels+t.whole(p.keys)+3) + p.keys*channels)
}

// checkTemporaries refuses attentions whose temporaries are beyond the bound.
func (t Target) checkTemporaries(kernels []*loop.Kernel) error {
	for _, k := range kernels {
		if k.Attention == nil {
			continue
		}
		if p := t.planAttention(k, 0); p.bytes > attentionBytes {
			return fmt.Errorf("attention to heads of %d and %d channels needs %d KiB of temporaries; the limit is %d KiB",
				k.Attention.D, k.Attention.E, p.bytes>>10, attentionBytes>>10)
		}
	}
	return nil
}

// whole rounds up to whole vectors.
func (t Target) whole(n int) int { return (n + t.Lanes - 1) / t.Lanes * t.Lanes }

// attentionEmitter writes what both schedules have in common, for a block of keys
// at a time. In all functions b, h and g are the batch, the head and the key head,
// i is a query and from the first of m keys.
type attentionEmitter struct {
	*emitter
	attentionPlan
	a    *loop.Attention
	name string
	// Weights stand in memory with these steps from query to query and from key to
	// key.
	queryStep, keyStep int
}

// attention writes the functions and returns the number of units.
func (e *emitter) attention(name string) int {
	for _, q := range e.kernel.Params {
		e.elems = append(e.elems, q.DType())
	}
	x := &attentionEmitter{emitter: e, attentionPlan: e.target.planAttention(e.kernel, e.schedule.Keys), a: e.kernel.Attention, name: name}
	if x.gathers(x.a.K) {
		x.gather("keys", x.a.K, x.a.D)
	}
	if x.gathers(x.a.V) {
		x.gather("values", x.a.V, x.a.E)
	}
	if x.excludes() {
		x.finite()
	}
	if x.channels {
		return (&channelsEmitter{x}).emit()
	}
	return (&queriesEmitter{attentionEmitter: x}).emit()
}

// masks reports whether scores are changed after they are computed.
func (x *attentionEmitter) masks() bool { return x.a.Causal || x.a.Mask != nil }

// excludes reports whether there may be excluded pairs whose values must not be
// read.
func (x *attentionEmitter) excludes() bool {
	return x.masks() && !x.a.Strict
}

// width is the channels of K or V.
func (x *attentionEmitter) width(access loop.Access) int {
	if access.Param == x.a.K.Param {
		return x.a.D
	}
	return x.a.E
}

// gathers reports whether blocks of K or V are copied, to be rows of vectors of f32.
// Few queries read them where they stand, if channels are adjacent and no block of
// keys lies in several of the cache.
func (x *attentionEmitter) gathers(access loop.Access) bool {
	switch table := x.a.Cache != nil && x.a.Cache.Table != nil; {
	case access.Strides[3] != 1 && x.width(access) > 1:
		return true
	case x.channels:
		return table && x.keys%x.a.Cache.Block != 0 && x.a.Cache.Block%x.keys != 0
	default:
		return table || x.elems[access.Param] != tensor.F32
	}
}

// paged reports whether rows of K or V are read where blocks of the cache stand.
func (x *attentionEmitter) paged(access loop.Access) bool {
	return !x.gathers(access) && x.a.Cache != nil && x.a.Cache.Table != nil
}

// rowElem is the type of the rows of a block of K or V.
func (x *attentionEmitter) rowElem(access loop.Access) tensor.DType {
	if x.gathers(access) {
		return tensor.F32
	}
	return x.elems[access.Param]
}

// row loads channels from an address on of a row of K or V, some lanes when part is
// not 0.
func (x *attentionEmitter) row(access loop.Access, at string, part int) string {
	if part > 0 && !x.gathers(access) {
		return fmt.Sprintf("load_part_%v(%s, %d)", x.rowElem(access), at, part)
	}
	return fmt.Sprintf("load_%v(%s)", x.rowElem(access), at)
}

// rowStep is the distance between the rows of a block of K or V.
func (x *attentionEmitter) rowStep(access loop.Access) int {
	if x.gathers(access) {
		return x.target.whole(x.width(access))
	}
	return access.Strides[2]
}

// keyAt is the scope of the elements of K and V that belong to a key.
func (x *attentionEmitter) keyAt(key, channel string) scope {
	s := scope{vars: []string{"b", "g", key, channel}, lane: 3}
	if c := x.a.Cache; c != nil && c.Table != nil {
		entry := scope{vars: []string{"b", fmt.Sprintf("(%s / %d)", key, c.Block)}}.at(*c.Table)
		s.vars[0], s.vars[2] = fmt.Sprintf("(long)*(%s)", entry), fmt.Sprintf("(%s %% %d)", key, c.Block)
	}
	return s
}

// gather writes the function that copies a block of K or V.
func (x *attentionEmitter) gather(kind string, access loop.Access, width int) {
	x.Open("KERNEL void %s_%s(float *rows, %s, long b, long g, long from, long m)", x.name, kind, x.pointers())
	x.Open("for (long j = 0; j < m; j++)")
	for c := 0; c < width; c += x.target.Lanes {
		s := x.keyAt("(from + j)", fmt.Sprint(c))
		s.part = x.target.part(width - c)
		x.Line("store(rows + j * %d + %d, %s);", x.target.whole(width), c, x.load(s, access))
	}
	x.Close()
	x.Close()
}

// part is how many lanes of a vector there are when n elements are left; 0 means
// all.
func (t Target) part(n int) int {
	if n >= t.Lanes {
		return 0
	}
	return n
}

// rowsOf declares the rows of a block of K or V, by name.
func (x *attentionEmitter) rowsOf(name, kind string, access loop.Access) {
	if !x.gathers(access) {
		x.Line("const %s *%s = %s;", forms[x.rowElem(access)].elem, name, x.keyAt("from", "").at(access))
		return
	}
	x.Line("float %s[%d] __attribute__((aligned(64)));", name, x.keys*x.rowStep(access))
	x.Line("%s_%s(%s, %s, b, g, from, m);", x.name, kind, name, x.pass())
}

// finite writes the function that looks for infinities and NaN in a block of V.
func (x *attentionEmitter) finite() {
	x.Open("KERNEL int %s_finite(const %s *v, long m)", x.name, forms[x.rowElem(x.a.V)].elem)
	x.Line("vf sum = set(0);")
	x.Open("for (long j = 0; j < m; j++)")
	for c := 0; c < x.a.E; c += x.target.Lanes {
		x.Line("sum = fma_(%s, set(0), sum);", x.values(c, x.target.part(x.a.E-c)))
	}
	x.Close()
	x.Line("return fold_sum_f32(sum)[0] == 0;")
	x.Close()
}

// values loads channels from c on of row j of v, some lanes when part is not 0.
func (x *attentionEmitter) values(c, part int) string {
	return x.row(x.a.V, fmt.Sprintf("v + j * %d + %d", x.rowStep(x.a.V), c), part)
}

// position declares where the queries of batch b stand: the position of the first,
// and how many are no padding.
func (x *attentionEmitter) position() {
	c := x.a.Cache
	if c == nil {
		x.Line("const long start = 0, count = %d;", x.a.Queries)
		return
	}
	row := scope{vars: []string{"b"}}
	x.Line("long start = *(%s), count = %d;", row.at(c.Pos), x.a.Queries)
	if c.Length != nil {
		x.Line("count = least(count, *(%s) - start);", row.at(*c.Length))
	}
}

// seen is the number of keys that queries from first on and before end see.
func (x *attentionEmitter) seen(first, end string) string {
	if x.a.Causal && !x.a.Strict {
		return fmt.Sprintf("least(count, %s) > %s ? least(%d, start + least(count, %s)) : 0", end, first, x.a.Keys, end)
	}
	return fmt.Sprint(x.a.Keys)
}

// share is what turns the sums of a query into its result: the inverse of the sum
// of its weights.
func (x *attentionEmitter) share(total string) string {
	dead := "set(0)"
	if x.a.Strict && x.a.Keys > 0 {
		dead = "set(__builtin_nanf(\"\"))"
	}
	return fmt.Sprintf("choose(%s == 0, %s, 1 / %s)", total, dead, total)
}
