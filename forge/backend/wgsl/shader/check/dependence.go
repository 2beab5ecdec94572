package check

// expr analyses an expression under a control flow, and gives what its value,
// or for memory the choice of its place, depends on.
func (w *walker) expr(x *Expr, flow deps) deps {
	switch x.Op {
	case Const, Override, VarRef:
		return 0
	case Value:
		return w.lets[x.Var]
	case Load:
		return w.expr(x.Args[0], flow) | w.contentOf(x.Args[0])
	case Logical:
		d := w.expr(x.Args[0], flow)
		return d | w.expr(x.Args[1], flow|d)
	case Call:
		return w.call(x, flow)
	case Builtin:
		return w.builtin(x, flow)
	}
	var d deps
	for _, a := range x.Args {
		d |= w.expr(a, flow)
	}
	return d
}

// contentOf is what the content of memory depends on.
func (w *walker) contentOf(x *Expr) deps {
	t := x.Type
	switch {
	case t.Space == Uniform, t.Space == Storage && t.Access == Read:
		return 0
	case t.Space == Function:
		return w.content[root(x)]
	}
	return differs
}

func (w *walker) builtin(x *Expr, flow deps) deps {
	var d deps
	for _, a := range x.Args {
		d |= w.expr(a, flow)
	}
	switch x.Name {
	case "workgroupBarrier", "storageBarrier", "workgroupUniformLoad":
		w.need(flow, "'"+x.Name+"' must only be called from uniform control flow", x.Pos)
		if x.Name == "workgroupUniformLoad" {
			w.need(d, "'workgroupUniformLoad' requires argument 0 to be uniform", x.Args[0].Pos)
		}
		return 0
	case "arrayLength":
		return 0
	}
	if rules[x.Name].effect {
		return differs // atomics
	}
	return d
}

// call puts the arguments' dependencies in the place of the parameters'.
func (w *walker) call(x *Expr, flow deps) deps {
	e := x.Fn.effect
	at := [64]deps{0: differs, 1: flow}
	for i, a := range x.Args {
		d := w.expr(a, flow)
		if i >= maxParams {
			continue
		}
		at[firstBits+2*i] = d
		if a.Type.Kind == Ptr {
			at[firstBits+2*i+1] = w.pointed(a)
		}
	}
	translate := func(on deps) (d deps) {
		for i := range at {
			if on>>i&1 != 0 {
				d |= at[i]
			}
		}
		return d
	}
	for _, d := range e.demands {
		w.need(translate(d.on), d.message, d.pos)
	}
	for i, a := range x.Args {
		if a.Type.Kind != Ptr || a.Type.Space != Function {
			continue
		}
		v := root(a)
		d := translate(e.content[i])
		if !wholeVariable(a) {
			d |= w.content[v] | w.expr(a, flow)
		}
		w.content[v] = d
	}
	return translate(e.result)
}

// pointed is what the content behind a pointer depends on.
func (w *walker) pointed(x *Expr) deps {
	t := x.Type
	switch {
	case t.Space == Uniform, t.Space == Storage && t.Access == Read:
		return 0
	case t.Space == Function:
		return w.content[root(x)]
	}
	return differs
}

// wholeVariable says whether a pointer is to all of a variable.
func wholeVariable(x *Expr) bool { return x.Op == AddressOf && x.Args[0].Op == VarRef }
