package wgsl

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"forgekernel/forge/backend/code"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// operand is a parameter of a kernel: the elements of an array from base on.
type operand struct {
	array  string
	base   int
	elem   Elem
	dtype  tensor.DType
	vector bool // the array is of vectors of four
}

// geometry is how a kernel is dispatched.
type geometry struct {
	groups    int // workgroups, which have numbers
	workgroup [3]int
	storage   int // bytes of workgroup memory
	reason    string
}

// emitter writes the entry point of one kernel.
type emitter struct {
	code.Writer
	kernel   *loop.Kernel
	operands []operand
	target   Target
	vars     []string // of the loop dimensions
	acc      string   // the sum that an epilogue finishes
	faults   bool     // it can write the fault word
	shared   []string // declarations of workgroup memory
	bytes    int      // of workgroup memory
	known    map[*loop.Expr]string
	angles   map[*loop.Expr]string // the quarter turns of angles, which sine and cosine share
	uses     map[*loop.Expr]int
}

// name gives a value a name, unless it has one.
func (e *emitter) name(text string) string {
	if isName(text) {
		return text
	}
	t := e.Temp()
	e.Line("let %s = %s;", t, text)
	return t
}

func isName(text string) bool { return word.FindString(text) == text }

// share declares an array of workgroup memory, unless it is there.
func (e *emitter) share(name, elem string, size int) {
	text := fmt.Sprintf("var<workgroup> %s: array<%s, %d>;", name, elem, size)
	if !slices.Contains(e.shared, text) {
		e.shared = append(e.shared, text)
		e.bytes += size * wide[elem]
	}
}

// wide are the bytes of types in workgroup memory.
var wide = map[string]int{"f32": 4, "i32": 4, "u32": 4, "vec2u": 8, "vec4f": 16}

// placeholder stands for the name of the kernel in its text.
const placeholder = "@kernel@"

// group is the number of the workgroup, as an expression of u32.
const group = "group"

// begin opens the entry point, which ends where there is no workgroup of that number.
func (e *emitter) begin(g geometry) {
	e.Line("@compute @workgroup_size(%d, %d, %d)", g.workgroup[0], g.workgroup[1], g.workgroup[2])
	e.Open("fn " + placeholder + "(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32)")
	x, y := e.target.grid(g.groups)
	if y == 1 {
		e.Line("let %s = id.x;", group)
		return
	}
	e.Line("let %s = id.y * %du + id.x;", group, x)
	if x*y != g.groups {
		e.Line("if (%s >= %du) { return; }", group, g.groups)
	}
}

// grid lays out workgroups in two dimensions, since one has too few.
func (t Target) grid(groups int) (x, y int) {
	y = (groups + t.Limits.Groups - 1) / t.Limits.Groups
	return (groups + y - 1) / y, y
}

// coordinates declares the variables of the point with number at in a grid of dims,
// the last running quickest.
func (e *emitter) coordinates(at string, vars []string, dims []int) {
	count := product(dims)
	for i, d := range dims {
		count /= max(d, 1)
		text := at
		if count > 1 {
			text += fmt.Sprintf(" / %du", count)
		}
		if product(dims[:i]) > 1 {
			text += fmt.Sprintf(" %% %du", d)
		}
		if d < 2 {
			vars[i] = "0"
			continue
		}
		e.Line("let %s = i32(%s);", vars[i], text)
	}
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func ceil(n, by int) int { return (n + by - 1) / by }

// ceilPower is the smallest power of two that is not less than n.
func ceilPower(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// affine is an index. It is right modulo 2^32, and so in all where the index itself, or its
// distance from a range that [within] checks, has no more bits.
func affine(vars []string, offset int, steps []int) string {
	var terms []string
	for i, step := range steps {
		switch {
		case step == 0 || vars[i] == "0":
		case step == 1:
			terms = append(terms, vars[i])
		default:
			terms = append(terms, fmt.Sprintf("%s * %s", factor(vars[i]), integer(step)))
		}
	}
	if offset != 0 || len(terms) == 0 {
		terms = append(terms, integer(offset))
	}
	return strings.ReplaceAll(strings.Join(terms, " + "), "+ -", "- ")
}

// integer is the i32 that is n modulo 2^32.
func integer(n int) string {
	if int32(n) == math.MinInt32 {
		return "i32(-2147483648)"
	}
	return fmt.Sprint(int32(n))
}

// factor is text that can be an operand of any operator.
func factor(text string) string {
	if strings.ContainsAny(text, " -!~") && !enclosed(text) {
		return "(" + text + ")"
	}
	return text
}

// enclosed reports whether text is one call, one element or one pair of parentheses.
func enclosed(text string) bool {
	at := strings.IndexAny(text, "([")
	if at < 0 || strings.ContainsAny(text[:at], " -!~") {
		return false
	}
	depth := 0
	for i, r := range text {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			if depth--; depth == 0 {
				return i == len(text)-1
			}
		}
	}
	return false
}

// both joins conditions, of which some may be empty.
func both(conditions ...string) string {
	conditions = slices.DeleteFunc(slices.Clone(conditions), func(c string) bool { return c == "" })
	return strings.Join(conditions, " && ")
}
