package script

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/tensor"
)

// TestDifferential and FuzzDifferential build well-typed programs from bytes.
// A program is traced and run three ways: as written in float32, after all
// passes in float32, which must agree bit for bit, and as written in float64,
// from which the float32 result may be no farther than the error bound that
// the generator carried along.
func TestDifferential(t *testing.T) {
	seed := uint64(1)
	for range 300 {
		var choices []byte
		for range 120 {
			seed = seed*6364136223846793005 + 1442695040888963407
			choices = append(choices, byte(seed>>56))
		}
		differential(t, choices)
	}
}

func FuzzDifferential(f *testing.F) {
	f.Add([]byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"))
	f.Add([]byte(strings.Repeat("forge", 30)))
	f.Fuzz(func(t *testing.T, choices []byte) {
		if len(choices) <= 200 {
			differential(t, choices)
		}
	})
}

func differential(t *testing.T, choices []byte) {
	t.Helper()
	g := &generator{choices: choices}
	source, result := g.program()
	file, err := Parse("fuzz.fs", source, nil, Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	traced, err := file.Funcs[len(file.Funcs)-1].Trace(nil, g.specs)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	if again, err := ir.Parse(op.Registry, traced.Graph.String()); err != nil || !ir.Equal(again, traced.Graph) {
		t.Fatalf("the text form does not give the graph back: %v\n%v", err, traced.Graph)
	}
	optimised, err := pass.Run(traced.Graph, pass.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	got := evaluate(t, interp.New(), traced.Graph, g.inputs)
	fast := evaluate(t, interp.New(), optimised.Graph, g.inputs)
	want := evaluate(t, interp.Reference(), traced.Graph, g.inputs)
	if !slices.Equal(got.Shape(), result.shape) {
		t.Fatalf("the result is %v, expected %v\n%s", got.Shape(), result.shape, source)
	}
	if !tensor.Identical(got, fast) {
		t.Fatalf("the passes change the result\n%s\n%v\n%v", source, traced.Graph, optimised.Graph)
	}
	for i := range got.Len() {
		if d := math.Abs(got.Elem(i) - want.Elem(i)); !(d <= result.err) || math.Abs(want.Elem(i)) > result.size*(1+1e-9) {
			t.Fatalf("element %d is %g, float64 gives %g: the bound is %g, and %g in size\n%s", i, got.Elem(i), want.Elem(i), result.err, result.size, source)
		}
	}
}

func evaluate(t *testing.T, b backend.Backend, g *ir.Graph, inputs []*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exe.Run(t.Context(), inputs...)
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// term is an expression with what is known of its value: no element is larger
// than size, and float32 evaluation is within err of the exact value.
type term struct {
	text      string
	shape     []int
	size, err float64
}

const (
	roundoff = 0x1p-24       // of one operation
	function = 16 * roundoff // of an elementary function, relative
	maxSize  = 1e4           // larger terms are squashed with tanh
	maxText  = 200           // longer terms are bound to a name
)

// generator chooses a program by consuming bytes; when they run out, every
// choice is the first.
type generator struct {
	choices []byte
	terms   []term
	lines   []string
	specs   []ir.Spec
	inputs  []*tensor.Tensor
}

func (g *generator) choose(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := int(g.choices[0])
	g.choices = g.choices[1:]
	return c % n
}

// pick takes a term, every other time one of the latest, so that programs grow
// deep as well as wide.
func (g *generator) pick() term {
	if g.choose(2) == 0 {
		return g.terms[len(g.terms)-1-g.choose(min(3, len(g.terms)))]
	}
	return g.terms[g.choose(len(g.terms))]
}

// program returns source text and the term of its result.
func (g *generator) program() (string, term) {
	var params []string
	for i := range 1 + g.choose(3) {
		var shape []int
		for range g.choose(4) {
			shape = append(shape, []int{2, 3, 1, 4}[g.choose(4)])
		}
		name := fmt.Sprintf("_p%d", i)
		in, _ := tensor.Rand(uint64(len(g.choices)*10+i), shape...)
		g.inputs, g.specs = append(g.inputs, in), append(g.specs, ir.SpecOf(in))
		g.terms = append(g.terms, term{text: name, shape: shape, size: 1})
		params = append(params, name)
	}
	for range 1 + len(g.choices)/8 {
		g.bind(g.step())
	}
	last := g.combine()
	body := fmt.Sprintf("def main(%s):\n", strings.Join(params, ", ")) + strings.Join(g.lines, "") + "    return " + last.text + "\n"
	const helpers = "def blend(x, y):\n    d = x - y\n    return d * 0.25 + y\n\n"
	if strings.Contains(body, "blend(") {
		return helpers + body, last
	}
	return body, last
}

// combine adds the means of the latest terms to the last one, so that the
// result depends on much of the program.
func (g *generator) combine() term {
	last := g.terms[len(g.terms)-1]
	for _, t := range g.terms[max(0, len(g.terms)-6):] {
		n := 1.0
		for _, d := range t.shape {
			n *= float64(d)
		}
		last.text += " + mean(" + t.text + ")"
		last.size += t.size
		last.err += t.err + 2*(n+1)*roundoff*t.size + 2*roundoff*last.size
	}
	return last
}

// bind keeps a term for later steps, under a name of its own or as text.
func (g *generator) bind(t term) term {
	if t.size > maxSize {
		t = term{"tanh(" + t.text + ")", t.shape, 1, t.err + function}
	}
	if len(t.text) > maxText || g.choose(2) == 0 {
		name := fmt.Sprintf("_v%d", len(g.lines))
		g.lines = append(g.lines, fmt.Sprintf("    %s = %s\n", name, t.text))
		t.text = name
	}
	g.terms = append(g.terms, t)
	return t
}

func (g *generator) step() term {
	switch g.choose(4) {
	case 0:
		return g.unary()
	case 1:
		return g.binary()
	case 2:
		return g.reduction()
	}
	return g.movement()
}

func (g *generator) unary() term {
	x := g.pick()
	names := []string{"relu", "sigmoid", "tanh", "abs", "neg", "gelu", "exp", "log", "sqrt", "minus", "silu", "erf", "sin", "cos", "rsqrt", "pow"}
	form := func(name, arg string) string {
		if g.choose(2) == 1 {
			return "(" + arg + ")." + name + "()"
		}
		return name + "(" + arg + ")"
	}
	switch name := names[g.choose(len(names))]; name {
	case "sigmoid", "tanh":
		return term{form(name, x.text), x.shape, 1, x.err + function}
	case "sin", "cos":
		return term{form(name, x.text), x.shape, 1, x.err + function}
	case "erf": // its slope is at most 1.13
		return term{form(name, x.text), x.shape, 1, 1.2*x.err + function}
	case "silu": // its slope is at most 1.1
		return term{form(name, x.text), x.shape, x.size, 1.2*x.err + function*x.size}
	case "rsqrt": // of what is at least one half
		return term{"rsqrt(abs(" + x.text + ") + 0.5)", x.shape, 1.5, 1.5*x.err + 4*function*(x.size+1)}
	case "pow": // of what is at least one, to a root
		return term{"pow(abs(" + x.text + ") + 1, 0.5)", x.shape, math.Sqrt(x.size + 1), x.err + 4*function*(x.size+1)}
	case "gelu": // its slope is at most 1.13
		return term{form(name, x.text), x.shape, x.size, 1.2*x.err + function*x.size}
	case "exp": // of what is not positive
		return term{"exp(-abs(" + x.text + "))", x.shape, 1, x.err + function}
	case "log": // of what is at least one
		return term{"log(abs(" + x.text + ") + 1)", x.shape, math.Log(x.size + 1), x.err + 4*function*(x.size+1)}
	case "sqrt":
		return term{"sqrt(abs(" + x.text + ") + 0.5)", x.shape, math.Sqrt(x.size + 0.5), x.err + 4*function*(x.size+1)}
	case "minus":
		return term{"-" + x.text, x.shape, x.size, x.err}.parenthesise()
	default:
		return term{form(name, x.text), x.shape, x.size, x.err}
	}
}

func (t term) parenthesise() term {
	t.text = "(" + t.text + ")"
	return t
}

func (g *generator) binary() term {
	x, y := g.pick(), g.pick()
	kind := g.choose(8)
	if kind == 7 && len(x.shape) >= 2 {
		return product(x)
	}
	shape, err := op.Broadcast(x.shape, y.shape)
	if err != nil || g.choose(4) == 3 {
		scalar := []float64{2, 0.5, -1.25, 3}[g.choose(4)]
		y = term{fmt.Sprintf("(%g)", scalar), nil, math.Abs(scalar), 0}
		shape = x.shape
	}
	sum := term{shape: shape, size: x.size + y.size, err: x.err + y.err + 2*roundoff*(x.size+y.size)}
	switch kind {
	case 0, 7:
		sum.text = fmt.Sprintf("(%s + %s)", x.text, y.text)
	case 1:
		sum.text = fmt.Sprintf("(%s - %s)", x.text, y.text)
	case 2:
		sum.text = fmt.Sprintf("blend(%s, %s)", x.text, y.text)
		sum.err = 4 * (sum.err + roundoff*sum.size)
	case 3, 4:
		name := []string{"maximum", "minimum"}[kind-3]
		return term{fmt.Sprintf("%s(%s, %s)", name, x.text, y.text), shape, max(x.size, y.size), max(x.err, y.err)}
	case 5:
		size := x.size * y.size
		return term{fmt.Sprintf("%s * %s", x.text, y.text), shape, size, x.size*y.err + y.size*x.err + x.err*y.err + 2*roundoff*size + 0x1p-140}.parenthesise()
	case 6: // by what is at least one
		return term{fmt.Sprintf("%s / (abs(%s) + 1.0)", x.text, y.text), shape, x.size, 2*(x.err+x.size*(y.err+4*roundoff*(y.size+1))) + 0x1p-140}.parenthesise()
	}
	return sum
}

// product multiplies a matrix by its own transpose.
func product(x term) term {
	rank := len(x.shape)
	axes := make([]string, rank)
	for i := range axes {
		axes[i] = fmt.Sprint(i)
	}
	axes[rank-1], axes[rank-2] = axes[rank-2], axes[rank-1]
	k := float64(x.shape[rank-1])
	shape := slices.Clone(x.shape)
	shape[rank-1] = shape[rank-2]
	size := k * x.size * x.size
	return term{fmt.Sprintf("(%s @ transpose(%s, %s))", x.text, x.text, strings.Join(axes, ", ")), shape, size, k*(2*x.size*x.err+x.err*x.err) + 2*(k+1)*roundoff*size + 0x1p-140}
}

func (g *generator) reduction() term {
	x := g.pick()
	name := []string{"sum", "mean", "max", "softmax", "min", "log_softmax", "rms_norm", "concat"}[g.choose(8)]
	n := 1
	for _, d := range x.shape {
		n *= d
	}
	if len(x.shape) == 0 {
		return term{fmt.Sprintf("%s * 0.5", x.text), nil, x.size, x.err}.parenthesise()
	}
	axis := g.choose(len(x.shape))
	switch name {
	case "log_softmax":
		return term{fmt.Sprintf("log_softmax(%s, axis=%d)", x.text, axis), x.shape, 2*x.size + 10, 4*x.err + 8*function*(1+x.size)}
	case "rms_norm": // eps bounds the scale by 1
		size := math.Sqrt(float64(n))
		return term{fmt.Sprintf("rms_norm(%s, eps=1, axis=%d)", x.text, axis), x.shape, size, 4 * (1 + size) * (x.err + function*(1+x.size)*float64(n))}
	case "concat":
		shape := slices.Clone(x.shape)
		shape[axis] *= 2
		return term{fmt.Sprintf("concat(%s, %s, axis=%d)", x.text, x.text, axis-len(shape)), shape, x.size, x.err}
	}
	if name == "softmax" {
		return term{fmt.Sprintf("softmax(%s, axis=%d)", x.text, axis-len(x.shape)), x.shape, 1, 4*x.err + 4*function*(1+x.size)}
	}
	text, shape := name+"("+x.text, []int(nil)
	switch g.choose(3) {
	case 0:
		n = x.shape[axis]
		text += fmt.Sprintf(", axis=%d", axis)
		shape = slices.Delete(slices.Clone(x.shape), axis, axis+1)
	case 1:
		n = x.shape[axis]
		text += fmt.Sprintf(", keepdims=True, axis=%d", axis-len(x.shape))
		shape = slices.Clone(x.shape)
		shape[axis] = 1
	}
	count := float64(n)
	switch name {
	case "sum":
		return term{text + ")", shape, count * x.size, count*x.err + 2*count*count*roundoff*x.size}
	case "mean":
		return term{text + ")", shape, x.size, x.err + 2*(count+1)*roundoff*x.size}
	}
	return term{text + ")", shape, x.size, x.err}
}

func (g *generator) movement() term {
	x := g.pick()
	if len(x.shape) == 0 || g.choose(2) == 0 {
		shape := slices.Clone(x.shape)
		slices.Reverse(shape)
		return term{"(" + x.text + ").transpose()", shape, x.size, x.err}
	}
	shape := append([]int{1}, x.shape[1:]...)
	shape[len(shape)-1] *= x.shape[0]
	if len(x.shape) == 1 {
		shape = []int{1, x.shape[0]}
	}
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = fmt.Sprint(d)
	}
	dims[len(dims)-1] = "-1"
	return term{fmt.Sprintf("reshape(%s, (%s))", x.text, strings.Join(dims, ", ")), shape, x.size, x.err}
}
