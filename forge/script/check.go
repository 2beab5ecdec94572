package script

import (
	"fmt"
	"maps"
	"slices"

	"forgekernel/display"
	"forgekernel/forge/spelling"
)

// check resolves the names of a file: every use has a definition and every
// definition a use, calls fit what they call, and no function reaches itself.
func check(f *File, scope Scope, r *reporter) {
	own := make(map[string]*Func)
	for _, fn := range f.Funcs {
		checkFuncName(fn, own, r)
		if own[fn.Name.Name] == nil {
			own[fn.Name.Name] = fn
		}
	}
	for _, fn := range f.Funcs {
		c := &checker{reporter: r, fn: fn, own: own, scope: scope, bound: make(map[string]*binding)}
		c.function(f.limits)
	}
	if len(r.errs) == 0 {
		checkRecursion(f, scope, r)
	}
}

func checkFuncName(fn *Func, own map[string]*Func, r *reporter) {
	name := fn.Name.Name
	switch first := own[name]; {
	case first != nil:
		line, _ := r.src.Position(first.Name.Start)
		r.report(fn.Name.Span, fmt.Sprintf("function %s is defined twice", name), "give one of them another name", fmt.Sprintf("the first definition is on line %d", line))
	case builtins[name] != nil:
		r.report(fn.Name.Span, fmt.Sprintf("%s is a function of the language", name), "choose another name")
	case reserved[name]:
		r.report(fn.Name.Span, fmt.Sprintf("a function cannot be called %s, because it becomes a Go value of the same name", name), "choose another name")
	}
}

// binding is a name that holds a tensor.
type binding struct {
	Ident
	param bool
	used  bool
}

// checker resolves one function.
type checker struct {
	*reporter
	fn     *Func
	own    map[string]*Func
	scope  Scope
	bound  map[string]*binding
	unused []*binding
}

func (c *checker) function(limits Limits) {
	before := len(c.errs)
	for _, p := range c.fn.Params {
		c.param(p)
	}
	if n := len(c.fn.Params); n > limits.Inputs {
		c.report(c.fn.Params[limits.Inputs].Name.Span, fmt.Sprintf("function %s has %d parameters", c.fn.Name.Name, n), fmt.Sprintf("a function takes at most %d tensors; pack some together, or split the function", limits.Inputs))
	}
	c.results()
	for _, a := range c.fn.Body {
		c.assign(a)
	}
	for _, x := range c.fn.Return {
		c.expr(x)
	}
	for _, name := range slices.Sorted(maps.Keys(c.bound)) {
		c.retire(c.bound[name])
	}
	c.reportUnused(before)
}

// results compares the annotation of the result with the function.
func (c *checker) results() {
	if len(c.fn.Result) == 0 {
		return
	}
	first := c.fn.Result[0].Span
	if _, annotated := c.fn.Specs(); !annotated {
		c.report(first, "the result is annotated, and not every parameter is", "annotate them all, or none")
	}
	if have, want := len(c.fn.Return), len(c.fn.Result); have != want {
		c.report(first, fmt.Sprintf("the annotation says %s, and %s returns %d", display.Count(want, "result"), c.fn.Name.Name, have), "annotate each result: -> f32[8] for one, -> (f32[8], f32[16]) for two")
	}
}

// assign checks an assignment and binds its names.
func (c *checker) assign(a Assign) {
	if len(a.Names) == 1 {
		c.expr(a.Value)
	} else {
		c.unpack(a)
	}
	for i, name := range a.Names {
		if c.nameable(name) {
			c.retire(c.bound[name.Name])
		}
		for _, earlier := range a.Names[:i] {
			if earlier.Name == name.Name {
				c.report(name.Span, fmt.Sprintf("%s is assigned twice on one line", name.Name), "give each result a name of its own")
			}
		}
		c.bound[name.Name] = &binding{Ident: name}
	}
}

// unpack checks the value of an assignment to several names.
func (c *checker) unpack(a Assign) {
	call, ok := a.Value.(*Call)
	if ok && builtins[call.Fun.Name] == nil {
		c.call(call, len(a.Names))
		return
	}
	before := len(c.errs)
	c.expr(a.Value)
	if len(c.errs) == before {
		c.report(a.Value.span(), fmt.Sprintf("this is one tensor, and %d names are assigned", len(a.Names)), "write a line for each name, or call a function that returns several tensors")
	}
}

func (c *checker) param(p Param) {
	if former := c.bound[p.Name.Name]; former != nil {
		c.report(p.Name.Span, fmt.Sprintf("parameter %s is named twice", p.Name.Name), "give each parameter a name of its own")
		return
	}
	c.nameable(p.Name)
	c.bound[p.Name.Name] = &binding{Ident: p.Name, param: true}
}

// nameable reports whether a tensor may have this name.
func (c *checker) nameable(id Ident) bool {
	switch {
	case builtins[id.Name] != nil:
		c.report(id.Span, fmt.Sprintf("%s is a function of the language and cannot name a tensor", id.Name), "choose another name")
	case c.own[id.Name] != nil:
		c.report(id.Span, fmt.Sprintf("%s is a function of this source and cannot name a tensor", id.Name), "choose another name")
	default:
		return true
	}
	return false
}

// retire ends the life of a binding, which must have been used.
func (c *checker) retire(b *binding) {
	if b != nil && !b.used && b.Name[0] != '_' {
		c.unused = append(c.unused, b)
	}
}

// reportUnused reports what was retired without a use. Next to another problem
// that is most often a consequence, so it is left for the next attempt.
func (c *checker) reportUnused(before int) {
	if len(c.errs) > before {
		return
	}
	for _, b := range c.unused {
		what, remedy := b.Name+" is assigned and not used", "delete the line"
		if b.param {
			what, remedy = "parameter "+b.Name+" is not used", "remove it"
		}
		c.report(b.Span, what, fmt.Sprintf("%s, or call it _%s if it must stay", remedy, b.Name))
	}
}

func (c *checker) expr(x Expr) {
	switch x := x.(type) {
	case *Name:
		c.use(x)
	case *Neg:
		c.expr(x.X)
	case *Binary:
		// Sums of many terms lean left; walking down that side in a loop keeps
		// the stack flat.
		for {
			c.expr(x.Y)
			left, ok := x.X.(*Binary)
			if !ok {
				c.expr(x.X)
				return
			}
			x = left
		}
	case *Call:
		c.call(x, 1)
	case *Const:
		c.report(x.Span, "True and False are not tensors", "they are values of keepdims=")
	case *Tuple:
		c.report(x.Span, "a list of numbers is not a tensor", "pass the tensor as an input")
	}
}

func (c *checker) use(x *Name) {
	if b := c.bound[x.Name]; b != nil {
		b.used = true
		return
	}
	message, hint := fmt.Sprintf("%s is not defined", x.Name), ""
	switch near := spelling.Nearest(x.Name, maps.Keys(c.bound)); {
	case builtins[x.Name] != nil:
		message, hint = fmt.Sprintf("%s is a function", x.Name), "call it: "+builtins[x.Name].example()
	case c.lookup(x.Name) != nil:
		message, hint = fmt.Sprintf("%s is a function", x.Name), "call it: "+c.lookup(x.Name).Signature()
	case c.assignedLater(x) > 0:
		hint = fmt.Sprintf("line %d assigns it; move that line up", c.assignedLater(x))
	case x.Name == "inf" || x.Name == "nan" || x.Name == "pi":
		hint = "write a finite number, such as 3.1415927"
	case near != "":
		hint = fmt.Sprintf("did you mean %s?", near)
	default:
		hint = "a function sees only its parameters and the names it assigns"
	}
	c.report(x.Span, message, hint)
}

// assignedLater is the line after the use that assigns the name, or 0.
func (c *checker) assignedLater(x *Name) int {
	for _, a := range c.fn.Body {
		for _, name := range a.Names {
			if name.Name == x.Name && name.Start > x.Start {
				line, _ := c.src.Position(name.Start)
				return line
			}
		}
	}
	return 0
}

// lookup finds a function of the file or the scope.
func (c *checker) lookup(name string) *Func {
	if f := c.own[name]; f != nil || c.scope == nil {
		return f
	}
	return c.scope.Lookup(name)
}

// call checks the callee, the arguments and whether the results fit as many
// places as want says.
func (c *checker) call(call *Call, want int) {
	if module, ok := c.module(call); ok {
		c.report(module.Span, noModules(module.Name), c.insteadOf(call.Fun.Name))
		for _, a := range call.Args[1:] {
			c.operand(a)
		}
		return
	}
	b, fn := builtins[call.Fun.Name], c.lookup(call.Fun.Name)
	switch {
	case b != nil:
		args, p := b.arguments(call)
		if p != nil {
			c.report(p.span, p.message, p.hint)
		}
		for _, a := range args.operands {
			c.expr(a)
		}
		return
	case call.Method && fn != nil:
		c.report(call.Fun.Span, fmt.Sprintf("%s is not a method of tensors", call.Fun.Name), "call it as a function: "+fn.Signature())
	case fn != nil:
		if p := fn.problem(call, want); p != nil {
			c.report(p.span, p.message, p.hint)
		}
	default:
		c.unknown(call)
	}
	for _, a := range call.Args {
		c.operand(a)
	}
}

// operand checks an argument. Lists and constants are judged with the call.
func (c *checker) operand(x Expr) {
	switch x.(type) {
	case *Tuple, *Const:
	default:
		c.expr(x)
	}
}

// module returns the receiver of a call such as np.exp(x).
func (c *checker) module(call *Call) (*Name, bool) {
	if !call.Method {
		return nil, false
	}
	n, ok := call.Args[0].(*Name)
	return n, ok && modules[n.Name] && c.bound[n.Name] == nil
}

// insteadOf says what to write for a function of another library.
func (c *checker) insteadOf(name string) string {
	if b := builtins[name]; b != nil {
		return "write " + b.example()
	}
	if hint := elsewhere[name]; hint != "" {
		return hint
	}
	if near := spelling.Nearest(name, slices.Values(c.callable())); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return fmt.Sprintf("the functions are %s", listOf(c.callable()))
}

func (c *checker) callable() []string {
	names := slices.AppendSeq(builtinNames(), maps.Keys(c.own))
	if c.scope != nil {
		names = append(names, c.scope.Names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unknown reports a call of something that is not a function.
func (c *checker) unknown(call *Call) {
	what := "function"
	if call.Method {
		what = "method"
	}
	if b := c.bound[call.Fun.Name]; b != nil && !call.Method {
		b.used = true
		c.report(call.Fun.Span, fmt.Sprintf("%s is a tensor and cannot be called", call.Fun.Name), "write * to multiply")
		return
	}
	c.report(call.Fun.Span, fmt.Sprintf("there is no %s %s", what, call.Fun.Name), c.insteadOf(call.Fun.Name))
}

// checkRecursion reports calls that close a cycle, also one through functions
// of the scope, at the last call of this file on the way round. Names resolve
// as they will once the file is part of the scope.
func checkRecursion(f *File, scope Scope, r *reporter) {
	const (
		active = iota + 1
		done
	)
	state := make(map[*Func]int)
	var visit func(fn *Func, last *Call)
	visit = func(fn *Func, last *Call) {
		state[fn] = active
		for call := range fn.calls {
			if fn.file == f {
				last = call
			}
			callee := f.find(call.Fun.Name)
			if callee == nil {
				callee = resolve(scope, fn, call.Fun.Name)
			}
			switch {
			case callee == nil:
			case state[callee] == active && last != nil:
				r.report(last.Fun.Span, describeCycle(fn, callee), "calls are replaced by the callee's body, so recursion would never end; write out the steps")
			case state[callee] == 0:
				visit(callee, last)
			}
		}
		state[fn] = done
	}
	for _, fn := range f.Funcs {
		if state[fn] == 0 {
			visit(fn, nil)
		}
	}
}

func describeCycle(fn, callee *Func) string {
	if fn == callee {
		return fmt.Sprintf("%s calls itself", fn.Name.Name)
	}
	return fmt.Sprintf("%s calls itself, through %s", callee.Name.Name, fn.Name.Name)
}

// find returns the function of that name in the file, or nil.
func (f *File) find(name string) *Func {
	for _, fn := range f.Funcs {
		if fn.Name.Name == name {
			return fn
		}
	}
	return nil
}

// calls yields every call of a function that is not built in.
func (f *Func) calls(yield func(*Call) bool) {
	var walk func(x Expr) bool
	walk = func(x Expr) bool {
		switch x := x.(type) {
		case *Neg:
			return walk(x.X)
		case *Binary:
			for {
				if !walk(x.Y) {
					return false
				}
				left, ok := x.X.(*Binary)
				if !ok {
					return walk(x.X)
				}
				x = left
			}
		case *Call:
			for _, a := range x.Args {
				if !walk(a) {
					return false
				}
			}
			return builtins[x.Fun.Name] != nil || yield(x)
		}
		return true
	}
	for _, a := range f.Body {
		if !walk(a.Value) {
			return
		}
	}
	for _, x := range f.Return {
		if !walk(x) {
			return
		}
	}
}
