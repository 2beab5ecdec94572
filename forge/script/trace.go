package script

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// Traced is a function written down as a graph for inputs of known specs.
type Traced struct {
	Graph *ir.Graph
	entry *Func
	calls map[site]*Func // what each call meant
}

// site is a call by name in the body of a function.
type site struct {
	caller *Func
	name   string
}

// Functions are the function that was traced and those that it inlined, each
// once: first those of its own source, each source from top to bottom.
func (t *Traced) Functions() []*Func {
	list := []*Func{t.entry}
	for _, callee := range t.calls {
		if !slices.Contains(list, callee) {
			list = append(list, callee)
		}
	}
	own := t.entry.Pos().Source
	slices.SortFunc(list, func(a, b *Func) int {
		p, q := a.Pos(), b.Pos()
		switch {
		case p.Source == q.Source:
			return p.Line - q.Line
		case p.Source == own:
			return -1
		case q.Source == own:
			return 1
		}
		return strings.Compare(p.Source, q.Source)
	})
	return list
}

// Current reports whether tracing again would inline the same functions: it is
// false once one of them has been redefined in the scope.
func (t *Traced) Current(scope Scope) bool {
	for s, callee := range t.calls {
		if resolve(scope, s.caller, s.name) != callee {
			return false
		}
	}
	return true
}

// Trace writes the function down as a graph for inputs of the given specs; a
// tuple becomes as many outputs. Calls are replaced by the callee's body, as
// scope has it now.
// The error is an [Errors] that points at the expression that does not fit.
func (f *Func) Trace(scope Scope, specs []ir.Spec) (*Traced, error) {
	if err := f.CheckInputs(specs); err != nil {
		return nil, err
	}
	t := &tracer{scope: scope, limits: f.file.limits, b: ir.NewBuilder(op.Registry, f.Name.Name), calls: make(map[site]*Func)}
	var inputs []*ir.Value
	for i, p := range f.Params {
		t.b.At(f.file.Source.Pos(p.Name.Span))
		v, err := t.b.Input(p.Name.Name, specs[i])
		if err != nil {
			return nil, Errors{diagnose(f.file.Source, p.Name.Span, err.Error(), "")}
		}
		inputs = append(inputs, v)
	}
	out, err := t.function(f, inputs)
	if err != nil {
		return nil, err
	}
	g, err := t.b.Finish(out...)
	if err != nil {
		return nil, Errors{diagnose(f.file.Source, f.Name.Span, err.Error(), "")}
	}
	return &Traced{Graph: g, entry: f, calls: t.calls}, nil
}

// CheckInputs compares the specs of a call with the function's parameters and
// the limits. It allocates nothing, so that a call beyond the limits costs
// nothing. The error is an [Errors].
func (f *Func) CheckInputs(specs []ir.Spec) error {
	src := f.file.Source
	if have, want := len(specs), len(f.Params); have != want {
		return Errors{diagnose(src, f.Name.Span, fmt.Sprintf("%s takes %s, got %d", f.Name.Name, display.Count(want, "tensor"), have), "its definition is "+f.Signature())}
	}
	total := 0
	for i, p := range f.Params {
		s := specs[i]
		n, err := tensor.Elements(s.Shape)
		switch total += n; {
		case err != nil:
			return Errors{diagnose(src, p.Name.Span, fmt.Sprintf("input %s: %v", p.Name.Name, err), "")}
		case s.DType != tensor.F32:
			return Errors{diagnose(src, p.Name.Span, fmt.Sprintf("input %s is %v", p.Name.Name, s), fmt.Sprintf("ForgeScript tensors are float32: pass forge.From(%[1]s.Values(), %[1]s.Shape()...), or store %[1]s.astype(np.float32)", p.Name.Name))}
		case n == 0:
			return Errors{diagnose(src, p.Name.Span, fmt.Sprintf("input %s is %v, which has no elements", p.Name.Name, s), "every dimension must be 1 or more")}
		}
	}
	if limit := f.file.limits.InputElements; total > limit {
		return Errors{diagnose(src, f.Name.Span, fmt.Sprintf("the inputs of %s have %d elements together, and the limit is %d", f.Name.Name, total, limit), "pass smaller tensors, or raise InputElements with forge.WithLimits")}
	}
	return nil
}

// tracer writes functions into one graph.
type tracer struct {
	scope  Scope
	limits Limits
	b      *ir.Builder
	nodes  int
	frames []frame
	calls  map[site]*Func
}

// frame is a function whose body is being written.
type frame struct {
	fn   *Func
	call *Call // in the frame below; nil for the function that is traced
	env  map[string]*ir.Value
}

func (t *tracer) top() *frame { return &t.frames[len(t.frames)-1] }

// fail describes a problem at span of the function being written, with the
// calls that led there.
func (t *tracer) fail(span Span, message, hint string) error {
	var notes []string
	for i := len(t.frames) - 1; i > 0; i-- {
		below := t.frames[i-1].fn
		notes = append(notes, fmt.Sprintf("in %s, called from %s at %v", t.frames[i].fn.Name.Name, below.Name.Name, below.file.Source.Pos(t.frames[i].call.Fun.Span)))
	}
	return Errors{diagnose(t.top().fn.file.Source, span, message, hint, notes...)}
}

// function writes the body of f for the given arguments.
func (t *tracer) function(f *Func, args []*ir.Value) ([]*ir.Value, error) {
	return t.inline(f, nil, args)
}

// inline writes the body of f, which call calls, and returns its results.
func (t *tracer) inline(f *Func, call *Call, args []*ir.Value) ([]*ir.Value, error) {
	env := make(map[string]*ir.Value, len(args)+len(f.Body))
	for i, p := range f.Params {
		env[p.Name.Name] = args[i]
	}
	t.frames = append(t.frames, frame{f, call, env})
	defer func() { t.frames = t.frames[:len(t.frames)-1] }()
	for _, a := range f.Body {
		values, err := t.values(a)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			t.b.Name(v, a.Names[i].Name)
			env[a.Names[i].Name] = v
		}
	}
	return t.results(f, args)
}

// values writes the right side of an assignment: one value per name.
func (t *tracer) values(a Assign) ([]*ir.Value, error) {
	if call, ok := a.Value.(*Call); ok && len(a.Names) > 1 {
		return t.call(call, len(a.Names))
	}
	v, err := t.expr(a.Value)
	return []*ir.Value{v}, err
}

// results writes what f returns and compares it with the annotation.
func (t *tracer) results(f *Func, args []*ir.Value) ([]*ir.Value, error) {
	values := make([]*ir.Value, len(f.Return))
	for i, x := range f.Return {
		v, err := t.expr(x)
		if err != nil {
			return nil, err
		}
		if len(f.Result) > 0 && f.asAnnotated(args) && !tensor.ShapeEqual(f.Result[i].Shape, v.Spec.Shape) {
			return nil, t.fail(x.span(), fmt.Sprintf("the result is %v, and the annotation says %v", v.Spec, f.Result[i]), "correct the expression, or the annotation after ->")
		}
		values[i] = v
	}
	return values, nil
}

// asAnnotated reports whether the arguments have the annotated shapes, for
// which alone the annotation of the result is meant.
func (f *Func) asAnnotated(args []*ir.Value) bool {
	for i, p := range f.Params {
		if !tensor.ShapeEqual(p.Type.Shape, args[i].Spec.Shape) {
			return false
		}
	}
	return true
}

func (t *tracer) expr(x Expr) (*ir.Value, error) {
	switch x := x.(type) {
	case *Name:
		return t.top().env[x.Name], nil
	case *Number:
		return t.number(x.Span, x.Value)
	case *Neg:
		if n, ok := x.X.(*Number); ok {
			return t.number(x.Span, -n.Value)
		}
		v, err := t.expr(x.X)
		if err != nil {
			return nil, err
		}
		return t.apply(x, x.Span, "neg", nil, operand{v, x.X})
	case *Binary:
		return t.binary(x)
	case *Call:
		if b := builtins[x.Fun.Name]; b != nil {
			return t.builtin(b, x)
		}
		values, err := t.call(x, 1)
		if err != nil {
			return nil, err
		}
		return values[0], nil
	}
	return nil, t.fail(x.span(), "this is not a tensor", "write an expression")
}

func (t *tracer) number(span Span, v float64) (*ir.Value, error) {
	if err := t.count(span); err != nil {
		return nil, err
	}
	t.b.At(t.top().fn.file.Source.Pos(span))
	return t.b.Scalar(tensor.F32, v)
}

// operatorNodes maps each binary operator to its node.
var operatorNodes = map[string]string{"+": "add", "-": "sub", "*": "mul", "/": "div", "@": "matmul"}

// binary writes a chain of operators. It walks the left side in a loop, as a
// sum of thousands of terms leans that way and would be as deep as it is long.
func (t *tracer) binary(x *Binary) (*ir.Value, error) {
	var spine []*Binary
	var first Expr = x
	for {
		b, ok := first.(*Binary)
		if !ok {
			break
		}
		spine = append(spine, b)
		first = b.X
	}
	v, err := t.expr(first)
	for i := len(spine) - 1; i >= 0 && err == nil; i-- {
		b := spine[i]
		var y *ir.Value
		if y, err = t.expr(b.Y); err == nil {
			v, err = t.apply(b, b.Op.Span, operatorNodes[b.Op.Name], nil, operand{v, b.X}, operand{y, b.Y})
		}
	}
	return v, err
}

// operand is a value and the expression that it comes from.
type operand struct {
	value *ir.Value
	expr  Expr
}

// apply adds a node for x, whose operator stands at the span at.
func (t *tracer) apply(x Expr, at Span, op string, attrs ir.Attrs, operands ...operand) (*ir.Value, error) {
	if err := t.count(at); err != nil {
		return nil, err
	}
	in := make([]*ir.Value, len(operands))
	for i, o := range operands {
		in[i] = o.value
	}
	t.b.At(t.top().fn.file.Source.Pos(at))
	v, err := t.b.Apply(op, attrs, in...)
	if err != nil {
		return nil, t.misfit(x, op, operands, err)
	}
	if n := v.Spec.Elements(); n > t.limits.Elements {
		return nil, t.fail(x.span(), fmt.Sprintf("the result is %v: %d elements, and the limit for one tensor is %d", v.Spec, n, t.limits.Elements), "check which dimensions broadcast, or raise Elements with forge.WithLimits")
	}
	return v, nil
}

// misfit describes operands that an operator does not take, in the words of
// the source.
func (t *tracer) misfit(x Expr, op string, operands []operand, err error) error {
	// The builder's error starts with the operands by their names in the graph.
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	sides := make([]side, len(operands))
	list := make([]string, len(operands))
	text := make(map[string]string, len(operands))
	for i, o := range operands {
		sides[i] = side{t.text(o.expr), o.value.Spec.Shape}
		list[i] = fmt.Sprintf("%s: %v", sides[i].text, o.value.Spec)
		text[o.value.String()] = sides[i].text
	}
	message := valueName.ReplaceAllStringFunc(err.Error(), func(name string) string {
		return cmp.Or(text[name], name)
	})
	return t.fail(x.span(), fmt.Sprintf("%s of %s: %s", op, listOf(list), message), suggest(op, sides))
}

// valueName is a value of the graph as messages write it.
var valueName = regexp.MustCompile(`%[0-9A-Za-z_]+`)

// maxOperand is the length of an expression that a message repeats.
const maxOperand = 24

// text is the source of an expression, or an ellipsis for a long one.
func (t *tracer) text(x Expr) string {
	s := x.span()
	text := t.top().fn.file.Source.Text[s.Start:s.End]
	if len(text) > maxOperand || strings.ContainsAny(text, "\n#") {
		return "…"
	}
	return text
}

// count refuses a graph that grows beyond the limit: functions that call one
// another twice double it at each level.
func (t *tracer) count(at Span) error {
	if t.nodes++; t.nodes > t.limits.Operations {
		return t.fail(at, fmt.Sprintf("the program has more than %d operations after inlining", t.limits.Operations), "split it, or raise Operations with forge.WithLimits")
	}
	return nil
}

// call writes the body of a function that is not built in and returns its
// results, as many as want says.
func (t *tracer) call(x *Call, want int) ([]*ir.Value, error) {
	f := t.top().fn
	callee := resolve(t.scope, f, x.Fun.Name)
	if callee == nil {
		return nil, t.fail(x.Fun.Span, fmt.Sprintf("there is no function %s any more", x.Fun.Name), "define it again")
	}
	t.calls[site{f, x.Fun.Name}] = callee
	if p := callee.problem(x, want); p != nil {
		return nil, t.fail(p.span, p.message, p.hint)
	}
	for _, frame := range t.frames {
		if frame.fn == callee {
			return nil, t.fail(x.Fun.Span, describeCycle(f, callee), "calls are replaced by the callee's body, so recursion would never end; write out the steps")
		}
	}
	args := make([]*ir.Value, len(x.Args))
	for i, a := range x.Args {
		v, err := t.expr(a)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return t.inline(callee, x, args)
}

func (t *tracer) builtin(b *builtin, x *Call) (*ir.Value, error) {
	args, p := b.arguments(x)
	if p != nil {
		return nil, t.fail(p.span, p.message, p.hint)
	}
	operands := make([]operand, len(args.operands))
	for i, a := range args.operands {
		v, err := t.expr(a)
		if err != nil {
			return nil, err
		}
		operands[i] = operand{v, a}
	}
	return t.apply(x, x.Fun.Span, b.name, b.attrs(args), operands...)
}
