package wgsl

import (
	"errors"
	"fmt"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// attentionLanes are the invocations of a workgroup, and the keys that it takes at a time.
const attentionLanes = 64

// attentionSums are the channels of the result that an invocation can have: half of the 8192
// bytes that the variables of a function may take.
const attentionSums = 1 << 10

// attentionEmitter writes a workgroup for each query. The softmax is online: what stands
// so far is scaled down when a larger score comes.
type attentionEmitter struct {
	*emitter
	a *loop.Attention
}

func (e *emitter) attention() (geometry, error) {
	x := &attentionEmitter{emitter: e, a: e.kernel.Attention}
	a := x.a
	if e.operands[a.Q.Param].dtype == tensor.F64 {
		return geometry{}, errors.New("WGSL has no f64")
	}
	if most := attentionSums * attentionLanes; a.E > most {
		return geometry{}, fmt.Errorf("its values have %d channels; the functions of WGSL have room for the sums of %d", a.E, most)
	}
	g := geometry{groups: a.Batches * a.Heads * a.Queries, workgroup: [3]int{attentionLanes, 1, 1}}
	g.reason = fmt.Sprintf("a workgroup for each of %d queries, an invocation for each of %d keys at a time", g.groups, attentionLanes)
	x.share("query", "f32", max(1, a.D))
	x.share("weights", "f32", attentionLanes)
	x.begin(g)
	at := []string{"b", "h", "i"}
	x.coordinates(group, at, []int{a.Batches, a.Heads, a.Queries})
	x.vars = at
	x.Line("let g = %s / %d;", at[1], a.Heads/max(1, a.Groups))
	x.visible()
	x.Open("for (var c = i32(lane); c < %d; c += %d)", a.D, attentionLanes)
	x.Line("query[c] = %s;", x.load(&a.Q, at[0], at[1], at[2], "c"))
	x.Close()
	x.Line("var best = from_bits(0xff800000u);")
	x.Line("var own_total = 0.0;")
	x.Line("var sums: array<f32, %d>;", x.parts())
	x.Open("for (var start = 0; start < seen; start += %d)", attentionLanes)
	x.scores()
	x.average()
	x.Close()
	x.finish()
	x.Close()
	g.storage = x.bytes
	return g, nil
}

// parts are the channels of the result that an invocation has.
func (x *attentionEmitter) parts() int { return max(1, ceil(x.a.E, attentionLanes)) }

// load is the element of an access at given places.
func (x *attentionEmitter) load(a *loop.Access, vars ...string) string {
	o := x.operands[a.Param]
	return o.element(affine(vars, a.Offset+o.base, a.Strides), false)
}

// integer is an element of an operand of integers as an i32; one that has no place there
// is too large.
func (x *attentionEmitter) integer(a *loop.Access, vars ...string) string {
	text := x.load(a, vars...)
	if x.operands[a.Param].dtype == tensor.I64 {
		return fmt.Sprintf("cast_i32_i64(%s)", text)
	}
	return text
}

// visible declares the number of keys that the query sees.
func (x *attentionEmitter) visible() {
	a, b, i := x.a, x.vars[0], x.vars[2]
	switch {
	case a.Cache != nil:
		x.Line("let position = clamp(%s, 0, %d) + %s;", x.integer(&a.Cache.Pos, b), a.Keys, i)
		x.Line("var seen = min(position + 1, %d);", a.Keys)
		if l := a.Cache.Length; l != nil { // padding sees nothing
			x.Line("if (position >= %s) { seen = 0; }", x.integer(l, b))
		}
	case a.Causal && !a.Strict:
		x.Line("let seen = min(%s + 1, %d);", i, a.Keys)
	default:
		x.Line("let seen = %d;", a.Keys)
	}
}

// keyPlace declares where key j of the query's batch stands: in which batch or block, and
// in which row there.
func (x *attentionEmitter) keyPlace() (batch, row string) {
	c := x.a.Cache
	if c == nil || c.Table == nil {
		return x.vars[0], "j"
	}
	x.Line("let entry = %s;", x.integer(c.Table, x.vars[0], fmt.Sprintf("j / %d", c.Block)))
	x.Line("let block = select(0, entry, %s);", within("entry", c.Blocks)) // a kernel before has looked
	return "block", fmt.Sprintf("(j %% %d)", c.Block)
}

// scores computes the score of a key by each invocation, the largest of them, and the
// weights relative to it. A weight below 0 excludes a key.
func (x *attentionEmitter) scores() {
	a := x.a
	x.Line("var score = from_bits(0xff800000u);")
	x.Line("var excluded = true;")
	x.Line("workgroupBarrier();")
	x.Open("if (start + i32(lane) < seen)")
	x.Line("let j = start + i32(lane);")
	batch, row := x.keyPlace()
	x.Line("var dot = 0.0;")
	x.Open("for (var c = 0; c < %d; c++)", a.D)
	x.Line("dot = fma(query[c], %s, dot);", x.load(&a.K, batch, "g", row, "c"))
	x.Close()
	x.Line("score = dot * %s;", literal(a.Scale))
	x.Line("excluded = false;")
	x.exclude()
	x.Close()
	x.tree("top", "score", loop.Max, tensor.F32, attentionLanes)
	x.Line("let next = maximum_f32(best, top);")
	x.Line("let none = bitcast<u32>(next) == 0xff800000u;")
	x.Line("let shrink = select(exp_f32(best - next), 1.0, none);")
	x.Line("let weight = select(exp_f32(score - next), 0.0, none || bitcast<u32>(score) == 0xff800000u);")
	x.Line("best = next;")
	x.Line("own_total = own_total * shrink + weight;")
	if a.Strict {
		x.Line("weights[lane] = weight;")
	} else {
		x.Line("weights[lane] = select(weight, -1.0, excluded);")
	}
	x.Line("workgroupBarrier();")
}

// exclude applies the mask, and in strict attention the order of queries.
func (x *attentionEmitter) exclude() {
	a := x.a
	if m := a.Mask; m != nil {
		mask := x.load(m, x.vars[0], x.vars[1], x.vars[2], "j")
		if x.kernel.MaskIsBool() {
			x.Line("excluded = !(%s);", mask)
		} else {
			x.Line("let mask = %s;", mask)
			x.Line("score += mask;")
			if !a.Strict {
				x.Line("excluded = bitcast<u32>(mask) == 0xff800000u;")
			}
		}
	}
	if a.Causal && a.Strict {
		x.Line("excluded = excluded || j > %s;", x.vars[2])
	}
	x.Line("if (excluded) { score = from_bits(0xff800000u); }")
}

// average adds the values of the keys to the channels of each invocation.
func (x *attentionEmitter) average() {
	a := x.a
	x.Open("for (var p = 0; p < %d; p++)", x.parts())
	x.Line("let e = i32(lane) + p * %d;", attentionLanes)
	x.Line("if (e >= %d) { break; }", a.E)
	x.Line("var sum = sums[p] * shrink;")
	x.Open("for (var k = 0; k < min(%d, seen - start); k++)", attentionLanes)
	x.Line("let j = start + k;")
	if !a.Strict {
		x.Line("if (weights[k] < 0.0) { continue; }")
	}
	batch, row := x.keyPlace()
	x.Line("sum = fma(weights[k], %s, sum);", x.load(&a.V, batch, "g", row, "e"))
	x.Close()
	x.Line("sums[p] = sum;")
	x.Close()
}

// finish divides by the sum of the weights, which is 0 where there was nothing to see.
func (x *attentionEmitter) finish() {
	a := x.a
	x.tree("total", "own_total", loop.Sum, tensor.F32, attentionLanes)
	x.Open("for (var p = 0; p < %d; p++)", x.parts())
	x.Line("let e = i32(lane) + p * %d;", attentionLanes)
	x.Line("if (e >= %d) { break; }", a.E)
	nothing := "0.0"
	if a.Strict && a.Keys > 0 {
		nothing = "from_bits(0x7fc00000u)"
	}
	x.vars = append(x.vars[:3:3], "e")
	x.Line("let result = select(sums[p] / total, %s, total == 0.0);", nothing)
	x.write(&a.Out, "result", "")
	x.Close()
}
