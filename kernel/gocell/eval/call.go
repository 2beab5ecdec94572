package eval

import (
	"go/token"
	"go/types"
	"reflect"
	"slices"

	"forgekernel/kernel/gocell/rtype"
	"golang.org/x/tools/go/ssa"
)

// native is compiled code that takes the place of a compiled function because
// it must know which goroutine calls.
type native func(th *thread, args []reflect.Value) []reflect.Value

// target is what a call calls; one of the fields tells.
type target struct {
	fn     *Func
	code   *Code
	clo    *closure
	native native
	host   reflect.Value // with a native: what may be called as long as no type has several generations

	deref    string // the method of values that is called with a pointer to one
	name     string // of compiled code
	path     string // of its package
	variadic bool   // compiled code takes its last arguments as a slice
}

// closure is the value of a func literal, a bound method, or a function that
// is used as a value.
type closure struct {
	engine *Engine
	target target
	run    *run            // of the cell that made it; nil for functions
	cells  []pointer       // captured variables, in the order of Func.free
	bound  []reflect.Value // instead, when not all of them are pointers
	typ    reflect.Type
}

// resolve finds what a static call calls.
func (b *builder) resolve(fn *ssa.Function) target {
	if code := b.codeOf(fn); code != nil {
		return target{code: code}
	}
	if code := b.instanceCode(fn); code != nil {
		return target{code: code}
	}
	if len(fn.Blocks) > 0 {
		return target{fn: b.function(fn)}
	}
	return b.hostTarget(fn)
}

// hostTarget finds compiled code for a function without a body. A wrapper, which
// only reflection may ask for, fails when it is called and not before.
func (b *builder) hostTarget(fn *ssa.Function) (tg target) {
	if b.ssa != nil && b.ssa.Synthetic != "" && b.ssa.Origin() == nil {
		defer func() {
			switch r := recover().(type) {
			case nil:
			case *Unsupported:
				tg = target{code: failing(r.Reason)}
			default:
				panic(r)
			}
		}()
	}
	return b.findHost(fn)
}

func (b *builder) findHost(fn *ssa.Function) target {
	name := hostName(fn)
	if hidden := b.hidden(fn); hidden != nil {
		return target{native: hidden, name: name}
	}
	if n, ok := natives[name]; ok {
		return target{native: n, name: name}
	}
	if fn.Origin() != nil {
		if n := b.genericNative(fn, name); n != nil {
			return target{native: n, name: name}
		}
		if host, ok := b.hostInstance(fn); ok {
			return target{host: host, name: name, variadic: fn.Signature.Variadic()}
		}
		refuse(b.pos, "%s is generic and its code is not part of this binary", name)
	}
	host, ok := b.hostFunc(fn)
	if !ok {
		refuse(b.pos, "%s is not part of this binary", name)
	}
	return target{host: host, native: grownNatives[name], name: name, path: fn.Object().Pkg().Path(), variadic: fn.Signature.Variadic()}
}

func (b *builder) hidden(fn *ssa.Function) native {
	obj := fn.Object()
	if obj == nil || obj.Pkg() != b.unit.Outer {
		return nil
	}
	h := b.e.opts.Hidden[obj.Name()]
	if h == nil {
		return nil
	}
	return func(th *thread, args []reflect.Value) []reflect.Value {
		h(Call{th.run.cell, th.run.data}, args)
		return nil
	}
}

// hostName is "path.Func" or "path.(*T).Method", without type arguments.
func hostName(fn *ssa.Function) string {
	obj, ok := fn.Object().(*types.Func)
	if !ok {
		return fn.String()
	}
	recv := obj.Signature().Recv()
	if recv == nil {
		return obj.Pkg().Path() + "." + obj.Name()
	}
	t, star := recv.Type(), ""
	if p, ok := t.(*types.Pointer); ok {
		t, star = p.Elem(), "*"
	}
	name := types.TypeString(t, func(*types.Package) string { return "" })
	if named, ok := types.Unalias(t).(*types.Named); ok {
		name = named.Obj().Name()
	}
	return obj.Pkg().Path() + ".(" + star + name + ")." + obj.Name()
}

// hostFunc finds a compiled function or, as a function of its receiver, method.
func (b *builder) hostFunc(fn *ssa.Function) (reflect.Value, bool) {
	obj, ok := fn.Object().(*types.Func)
	if !ok || obj.Pkg() == nil || b.isOwn(obj.Pkg()) {
		return reflect.Value{}, false
	}
	recv := obj.Signature().Recv()
	if recv == nil {
		v, ok := b.e.opts.Host.Symbol(obj.Pkg().Path(), obj.Name())
		return v, ok && v.Kind() == reflect.Func
	}
	m, ok := b.typ(recv.Type(), b.pos).MethodByName(obj.Name())
	return m.Func, ok
}

// hostFuncType is the type of a compiled function whose parts can be learnt.
func (b *builder) hostFuncType(fn *ssa.Function) (reflect.Type, bool) {
	if fn.Signature.Recv() != nil {
		f, ok := b.hostFunc(fn)
		if !ok {
			return nil, false
		}
		t := f.Type()
		var in, out []reflect.Type
		for i := 1; i < t.NumIn(); i++ {
			in = append(in, t.In(i))
		}
		for i := range t.NumOut() {
			out = append(out, t.Out(i))
		}
		return reflect.FuncOf(in, out, t.IsVariadic()), true
	}
	f, ok := b.hostFunc(fn)
	if !ok {
		return nil, false
	}
	return f.Type(), true
}

// funcValue makes the func value of a function.
func (b *builder) funcValue(fn *ssa.Function, t reflect.Type) pointer {
	tg := b.resolve(fn)
	if tg.host.IsValid() && tg.host.Type() == t {
		return word(tg.host)
	}
	return makeFunc(t, entranceFor(t), &closure{engine: b.e, target: tg, typ: t})
}

func (b *builder) makeClosure(in *ssa.MakeClosure) {
	fn := in.Fn.(*ssa.Function)
	tg := b.resolve(fn)
	dst := b.places[in]
	bindings := b.vals(in.Bindings)
	e, entry := b.e, entranceFor(dst.typ)
	if !slices.ContainsFunc(bindings, func(pl place) bool { return pl.class != ptr }) {
		b.emit(func(fr *frame) {
			clo := &closure{engine: e, target: tg, run: fr.th.run, typ: dst.typ, cells: make([]pointer, len(bindings))}
			for i, pl := range bindings {
				clo.cells[i] = fr.p[pl.i]
			}
			fr.p[dst.i] = makeFunc(dst.typ, entry, clo)
		})
		return
	}
	b.emit(func(fr *frame) {
		clo := &closure{engine: e, target: tg, run: fr.th.run, typ: dst.typ, bound: make([]reflect.Value, len(bindings))}
		for i, pl := range bindings {
			clo.bound[i] = fr.get(pl)
		}
		fr.p[dst.i] = makeFunc(dst.typ, entry, clo)
	})
}

func (b *builder) vals(list []ssa.Value) []place {
	places := make([]place, len(list))
	for i, v := range list {
		places[i] = b.val(v)
	}
	return places
}

// results returns the places of a call's results.
func (b *builder) results(call *ssa.Call) []place {
	if list, ok := b.tuples[call]; ok {
		return list
	}
	return []place{b.places[call]}
}

// call translates a call whose results are used here.
func (b *builder) call(in *ssa.Call) {
	common := in.Common()
	if bi, ok := common.Value.(*ssa.Builtin); ok {
		b.builtin(in, bi)
		return
	}
	dst := b.results(in)
	args := b.vals(common.Args)
	switch fn := common.Value.(type) {
	case *ssa.Function:
		b.staticCall(b.resolve(fn), common.Args, args, dst)
		return
	}
	if common.IsInvoke() {
		b.invoke(common, args, dst)
		return
	}
	b.dynamicCall(common, args, dst)
}

// staticCall emits a call of a known target.
func (b *builder) staticCall(tg target, list []ssa.Value, args, dst []place) {
	code := tg.code
	if tg.fn != nil {
		code = &Code{Name: tg.fn.name}
		code.fn.Store(tg.fn)
	}
	numeric := len(dst) == 1 && dst[0].class == num
	switch {
	case code == nil && b.compiledCall(tg, args, dst):
	case code == nil:
		b.emit(func(fr *frame) { fr.finish(dst, fr.th.apply(tg, fr.gather(args), nil)) })
	case numeric && len(args) == 1 && args[0].class == num:
		a, by := b.addend(list[0], args[0])
		b.emit(unaryCall(code, a, by, dst[0].i))
	case numeric:
		b.emit(numericCall(code, paramMoves(args), dst[0].i))
	default:
		moves := paramMoves(args)
		b.emit(func(fr *frame) {
			callee := fr.th.push(code.current())
			for _, m := range moves {
				m.do(callee, fr)
			}
			callee.call()
			fr.take(callee, dst)
			fr.th.pop(callee)
		})
	}
}

// compiledCall emits a call of compiled code whose arguments go straight into registers,
// where that can be.
func (b *builder) compiledCall(tg target, args, dst []place) bool {
	if !tg.host.IsValid() || tg.host.IsNil() {
		return false
	}
	c := hostCallOf(tg.host.Type(), args, dst)
	if c == nil {
		return false
	}
	fn, name := word(tg.host), waitName(tg.path, tg.host.Type(), &tg.name)
	if tg.native == nil {
		b.emit(func(fr *frame) { c.do(fr, fn, name) })
		return true
	}
	b.emit(func(fr *frame) {
		if rtype.Grown() {
			fr.finish(dst, fr.th.apply(tg, fr.gather(args), nil))
		} else {
			c.do(fr, fn, name)
		}
	})
	return true
}

// numericCall is a call whose one result is a number.
func numericCall(code *Code, moves []move, d int) instr {
	return func(fr *frame) {
		callee := fr.th.push(code.current())
		for _, m := range moves {
			m.do(callee, fr)
		}
		callee.call()
		fr.n[d] = callee.result
		fr.th.pop(callee)
	}
}

// addend takes an argument apart that is the sum of a number and a constant, if the call
// has taken it over.
func (b *builder) addend(arg ssa.Value, a place) (i int, by uint64) {
	sum, ok := arg.(*ssa.BinOp)
	if !ok || !b.folded[sum] {
		return a.i, 0
	}
	by = b.immediate(sum)
	if sum.Op == token.SUB {
		by = -by
	}
	return b.val(sum.X).i, by
}

// unaryCall is a call of a function of one number, as recursive ones often are: of the sum
// of a number and by.
func unaryCall(code *Code, a int, by uint64, d int) instr {
	return func(fr *frame) {
		fn := code.fn.Load()
		if fn == nil {
			fn = code.current()
		}
		th := fr.th
		callee := th.push(fn)
		callee.n[0] = fr.n[a] + by
		if fn.hasDefer {
			callee.callDeferring()
		} else {
			callee.exec()
		}
		fr.n[d] = callee.result
		th.depth = callee.depth
	}
}

// paramMoves pairs arguments with the places that a function gives its
// parameters: in order, counted by class.
func paramMoves(args []place) []move {
	var next [classes]int
	moves := make([]move, len(args))
	for i, a := range args {
		moves[i] = move{a.class, a.i, next[a.class]}
		next[a.class]++
	}
	return moves
}

// take copies the results of a call.
func (fr *frame) take(callee *frame, dst []place) {
	if callee.fn.numeric {
		fr.n[dst[0].i] = callee.result
		return
	}
	if len(callee.ret) != len(dst) { // recovered without named results, or no result
		for _, pl := range dst {
			fr.zero(pl)
		}
		return
	}
	for i, src := range callee.ret {
		move{src.class, src.i, dst[i].i}.do(fr, callee)
	}
}

func (fr *frame) gather(args []place) []reflect.Value {
	list := make([]reflect.Value, len(args))
	for i, a := range args {
		list[i] = fr.get(a)
	}
	return list
}

func (fr *frame) finish(dst []place, results []reflect.Value) {
	for i, r := range results {
		if i < len(dst) {
			fr.set(dst[i], r)
		}
	}
}

// dynamicCall emits a call of a func value.
func (b *builder) dynamicCall(common *ssa.CallCommon, args, dst []place) {
	f := b.val(common.Value)
	moves := paramMoves(args)
	d, numeric := numericResult(dst)
	variadic, host, name := common.Signature().Variadic(), hostCallOf(f.typ, args, dst), "a compiled function"
	entry := entranceFor(f.typ)
	b.emit(func(fr *frame) {
		p := fr.p[f.i]
		if p == nil {
			nilDereference()
		}
		clo := entry.closureOf(p)
		switch {
		case clo != nil && clo.target.fn != nil:
			callee := fr.th.push(clo.target.fn)
			for _, m := range moves {
				m.do(callee, fr)
			}
			callee.bind(clo)
			if callee.fn.hasDefer {
				callee.callDeferring()
			} else {
				callee.exec()
			}
			if numeric {
				fr.n[d] = callee.result
			} else {
				fr.take(callee, dst)
			}
			fr.th.pop(callee)
		case clo != nil:
			fr.finish(dst, fr.th.apply(target{clo: clo}, fr.gather(args), nil))
		case host != nil:
			host.do(fr, p, &name)
		default:
			tg := target{host: box(f.typ, p), name: name, variadic: variadic}
			fr.finish(dst, fr.th.apply(tg, fr.gather(args), nil))
		}
	})
}

// bind gives a frame the captured variables of its closure.
func (fr *frame) bind(clo *closure) {
	if len(clo.cells) > 0 {
		for i, p := range clo.cells {
			fr.p[fr.fn.free[i].i] = p
		}
		return
	}
	for i, v := range clo.bound {
		fr.set(fr.fn.free[i], v)
	}
}

// numericResult is the place of a number that is the only result.
func numericResult(dst []place) (i int, ok bool) {
	if len(dst) != 1 || dst[0].class != num {
		return 0, false
	}
	return dst[0].i, true
}
