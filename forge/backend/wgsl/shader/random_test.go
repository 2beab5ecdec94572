package shader

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomPrograms is how many random programs are compared with Dawn.
const randomPrograms = 12

const divisionByZero = "integer division by zero"

// generator writes random programs without a race or an index out of bounds:
// u32 arithmetic under control flow that lanes share or do not.
type generator struct {
	*rand.Rand
	b      strings.Builder
	depth  int
	names  []string // u32 variables in scope
	fixed  []string // lets, counters and parameters
	arrays []string // array<u32, 4> variables
	vecs   []string // vec3<u32> variables
	count  int
	loops  int  // around the statement, in its function
	inCont bool // in a continuing block
	result bool // the function has one
	fns    int
}

func (g *generator) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("  ", g.depth))
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

func (g *generator) name(prefix string) string {
	g.count++
	return fmt.Sprintf("%s%d", prefix, g.count)
}

func oneOf[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// expr is a random u32.
func (g *generator) expr(depth int) string {
	if depth == 0 || g.IntN(5) == 0 {
		switch g.IntN(7) {
		case 0:
			return fmt.Sprintf("%du", 1+g.IntN(8))
		case 1:
			return fmt.Sprintf("in[%d]", g.IntN(64))
		case 2:
			if len(g.arrays) > 0 {
				return fmt.Sprintf("%s[%s %% 4u]", oneOf(g, g.arrays), g.expr(0))
			}
		case 3:
			if len(g.vecs) > 0 {
				return fmt.Sprintf("%s.%s", oneOf(g, g.vecs), oneOf(g, []string{"x", "y", "z"}))
			}
		case 4:
			return "hidden"
		}
		return oneOf(g, append(g.fixed, g.names...))
	}
	x, y := g.expr(depth-1), g.expr(depth-1)
	switch g.IntN(9) {
	case 0:
		return fmt.Sprintf("select(%s, %s, %s)", x, y, g.cond(depth-1))
	case 1:
		return fmt.Sprintf("min(%s, %s)", x, y)
	case 2:
		if g.fns > 0 {
			return fmt.Sprintf("f%d(%s, %s)", g.IntN(g.fns), x, y)
		}
	}
	return fmt.Sprintf("(%s %s %s)", x, oneOf(g, []string{"+", "-", "*", "^", "&", "|", "/", "%"}), y)
}

func (g *generator) cond(depth int) string {
	c := fmt.Sprintf("(%s) %s (%s)", g.expr(depth), oneOf(g, []string{"<", ">", "==", "!="}), g.expr(depth))
	if depth > 0 && g.IntN(3) == 0 {
		return fmt.Sprintf("(%s %s %s)", c, oneOf(g, []string{"&&", "||"}), "("+g.cond(depth-1)+")")
	}
	return "(" + c + ")"
}

// block writes statements in a scope of their own.
func (g *generator) block(n int) {
	names, fixed, arrays, vecs := len(g.names), len(g.fixed), len(g.arrays), len(g.vecs)
	g.depth++
	for range 1 + g.IntN(4) {
		g.statement(n)
	}
	g.depth--
	g.names, g.fixed, g.arrays, g.vecs = g.names[:names], g.fixed[:fixed], g.arrays[:arrays], g.vecs[:vecs]
}

func (g *generator) statement(n int) {
	switch k := g.IntN(20); {
	case k < 3:
		v := g.name("v")
		g.line("var %s = %s;", v, g.expr(2))
		g.names = append(g.names, v)
	case k < 4:
		v := g.name("l")
		g.line("let %s = %s;", v, g.expr(2))
		g.fixed = append(g.fixed, v)
	case k < 5:
		v := g.name("a")
		g.line("var %s = array<u32, 4>(%s, %s, 3u, 4u);", v, g.expr(1), g.expr(1))
		g.arrays = append(g.arrays, v)
	case k < 6:
		v := g.name("w")
		g.line("var %s = vec3<u32>(%s, %s, %s);", v, g.expr(1), g.expr(1), g.expr(1))
		g.vecs = append(g.vecs, v)
	case k < 7 && len(g.vecs) > 0:
		v := oneOf(g, g.vecs)
		g.line("%s = %s.%s + vec3<u32>(%s);", v, v, oneOf(g, []string{"yzx", "xxz", "zyx"}), g.expr(1))
	case k < 8 && len(g.arrays) > 0:
		g.line("%s[%s %% 4u] += %s;", oneOf(g, g.arrays), g.expr(1), g.expr(1))
	case k < 9:
		g.line("hidden += %s;", g.expr(1))
	case k < 10 && len(g.names) > 0 && g.fns > 0:
		g.line("p%d(&%s, %s);", g.IntN(g.fns), oneOf(g, g.names), g.expr(1))
	case k < 13 && n > 0:
		g.line("if %s {", g.cond(1))
		g.block(n - 1)
		if g.IntN(2) == 0 {
			g.line("} else {")
			g.block(n - 1)
		}
		g.line("}")
	case k < 16 && n > 0:
		g.loop(n)
	case k < 17 && n > 0:
		g.line("switch (%s) %% 4u {", g.expr(1))
		g.line("case 0u: {")
		g.block(n - 1)
		g.line("} case 1u, 2u: {")
		g.block(n - 1)
		if g.IntN(2) == 0 {
			g.line("  if %s { break; }", g.cond(1))
			g.block(n - 1)
		}
		g.line("} default: {")
		g.block(n - 1)
		g.line("} }")
	case k < 18 && g.loops > 0 && !g.inCont:
		g.line("if %s { %s; }", g.cond(1), oneOf(g, []string{"break", "continue"}))
	case k < 19 && g.result && !g.inCont && g.IntN(2) == 0:
		g.line("if %s { return %s; }", g.cond(1), g.expr(1))
	default:
		if len(g.names) > 0 {
			g.line("%s %s %s;", oneOf(g, g.names), oneOf(g, []string{"=", "+=", "^="}), g.expr(2))
		}
	}
}

func (g *generator) loop(n int) {
	k := g.name("k")
	g.fixed = append(g.fixed, k)
	g.loops++
	if g.IntN(2) == 0 {
		g.line("for (var %s = 0u; %s < %d && %s < 6u; %s++) {", k, k, g.IntN(6), k, k)
		g.block(n - 1)
		g.line("}")
	} else {
		g.line("var %s = 0u;", k)
		inner := g.name("v")
		g.line("loop {")
		g.line("  var %s = %s;", inner, g.expr(1))
		g.names = append(g.names, inner)
		g.block(n - 1)
		g.line("  continuing {")
		inCont := g.inCont
		g.inCont = true
		g.line("    %s++;", k)
		g.line("    hidden += %s;", inner)
		g.block(0)
		g.line("    break if %s > %du || %s;", k, g.IntN(5), g.cond(0))
		g.line("  }")
		g.line("}")
		g.inCont = inCont
		g.names = g.names[:len(g.names)-1]
	}
	g.loops--
	g.fixed = g.fixed[:len(g.fixed)-1]
}

func (g *generator) program() string {
	g.line("@group(0) @binding(0) var<storage, read_write> out: array<u32>;")
	g.line("@group(0) @binding(1) var<storage, read> in: array<u32, 64>;")
	g.line("var<private> hidden: u32 = 1u;")
	for i := range 2 {
		g.names, g.fixed, g.arrays, g.vecs, g.loops, g.result = nil, []string{"x", "y"}, nil, nil, 0, true
		g.line("fn f%d(x: u32, y: u32) -> u32 {", i)
		g.block(1)
		g.line("  return x + y;")
		g.line("}")
		g.result = false
		g.names, g.fixed = []string{"*p"}, []string{"y"}
		g.line("fn p%d(q: ptr<function, u32>, y: u32) {", i)
		g.line("  let p = q;")
		g.names = []string{"v"}
		g.line("  var v = *p;")
		g.block(1)
		g.line("  if v > y { *p = v; return; }")
		g.line("  *p += 1u;")
		g.line("}")
	}
	g.fns = 2 // which do not call one another: software adapters expand calls
	g.names, g.fixed, g.arrays, g.vecs = []string{"v", "same"}, []string{"i", "i", "(i / 4u)"}, nil, nil
	g.line("@compute @workgroup_size(16) fn main(@builtin(local_invocation_index) i: u32) {")
	g.line("  var v = i * 7u;")
	g.line("  var same = in[5];")
	g.block(3)
	g.block(3)
	g.line("  out[i] = v; out[i + 16u] = same; out[i + 32u] = hidden;")
	g.line("}")
	return g.b.String()
}

// TestDawnAgreesOnRandom compares random programs, which are the same in every
// run, with Dawn.
func TestDawnAgreesOnRandom(t *testing.T) {
	var programs []dawnProgram
	var outs [][]byte
	for seed := range uint64(randomPrograms) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 7))}
		src := g.program()
		m, err := Parse(src)
		if err != nil && strings.Contains(err.Error(), divisionByZero) { // of constants, by chance
			continue
		} else if err != nil {
			t.Fatalf("program %d: %v\n%s", seed, err, src)
		}
		e := entry{source: src, groups: [3]uint32{1, 1, 1}}
		bindings, vars := e.buffers(t, m)
		p := dawnProgram{Source: src, Groups: e.groups}
		for _, v := range vars {
			p.Buffers = append(p.Buffers, dawnBuffer{v.Binding, false, append([]byte(nil), bindings[Binding{0, v.Binding}]...)})
		}
		if err := m.Dispatch(context.Background(), Call{Groups: e.groups, Bindings: bindings}); err != nil {
			t.Fatalf("program %d: %v\n%s", seed, err, src)
		}
		programs, outs = append(programs, p), append(outs, bindings[Binding{}])
	}
	_, results := dawn(t, programs)
	for i, r := range results {
		if len(r.Messages) > 0 {
			t.Errorf("program %d: Dawn refuses it: %v\n%s", i, r.Messages, programs[i].Source)
		} else if string(r.Buffers[0]) != string(outs[i]) {
			t.Errorf("program %d: ours %x\nDawn %x\n%s", i, outs[i], r.Buffers[0], programs[i].Source)
		}
	}
}
