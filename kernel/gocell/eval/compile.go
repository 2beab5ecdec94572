package eval

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// compiler translates one unit.
type compiler struct {
	e     *Engine
	unit  *Unit
	prog  *ssa.Program
	units map[*types.Package]*Unit // whose syntax is at hand
	funcs map[*ssa.Function]*Func
	queue []*ssa.Function

	stmts  map[*Unit][]statement
	consts map[*Unit][]localConst
	lines  map[*Source][]int              // where their lines begin, but the first
	zeros  map[reflect.Type]reflect.Value // constants, which nobody writes to

	pending []pendingMethod
	link    []linkage // instances of methods, see instanceCode
	undo    []func()  // what a unit that is refused takes back
}

// Unsupported refuses a construct that cannot be run rightly.
type Unsupported struct {
	Pos    token.Pos
	Reason string
}

func (u *Unsupported) Error() string { return u.Reason }

func refuse(pos token.Pos, format string, args ...any) {
	panic(&Unsupported{pos, fmt.Sprintf(format, args...)})
}

// Compile translates a unit and changes nothing else. Its error is an
// *Unsupported.
func (e *Engine) Compile(u *Unit) (prog *Program, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &compiler{
		e: e, unit: u, funcs: map[*ssa.Function]*Func{}, units: map[*types.Package]*Unit{u.Pkg: u},
		stmts: map[*Unit][]statement{}, consts: map[*Unit][]localConst{}, zeros: map[reflect.Type]reflect.Value{},
	}
	e.compile = c
	e.types.Begin()
	defer func() {
		e.compile = nil
		r := recover()
		if r == nil {
			return
		}
		e.types.Undo()
		for _, f := range slices.Backward(c.undo) {
			f()
		}
		refusal, ok := r.(*Unsupported)
		if !ok {
			panic(r)
		}
		prog, err = nil, refusal
	}()
	pkg := c.build()
	for obj, v := range u.Vars {
		before := v.addr.Load()
		c.undo = append(c.undo, func() { v.addr.Store(before) })
		t := c.typ(v.typ, obj.Pos())
		if uint64(t.Size()) > room() {
			refuse(obj.Pos(), "%s is too large: a variable of type %s needs %d MB, and the machine has %d MB", obj.Name(), t, t.Size()>>20, room()>>20)
		}
		v.settle(t)
	}
	for _, t := range u.Renewed {
		c.typ(t, token.NoPos)
	}
	prog = c.program(pkg)
	e.types.Keep()
	return prog, nil
}

// build makes the SSA form of the unit.
func (c *compiler) build() *ssa.Package {
	u := c.unit
	c.prog = ssa.NewProgram(u.Fset, ssa.InstantiateGenerics|ssa.BareInits)
	c.imports()
	if u.Outer != nil {
		c.prog.CreatePackage(u.Outer, nil, nil, false)
	}
	for _, g := range u.Generic {
		c.units[g.Pkg] = g
		if g.Outer != nil && c.prog.Package(g.Outer) == nil {
			c.prog.CreatePackage(g.Outer, nil, nil, false)
		}
		c.prog.CreatePackage(g.Pkg, g.Files, g.Info, false).SetDebugMode(g.hasVariables())
	}
	pkg := c.prog.CreatePackage(u.Pkg, u.Files, u.Info, false)
	pkg.SetDebugMode(u.hasVariables())
	pkg.Build()
	return pkg
}

// hasVariables reports whether a debugger can be shown the unit's statements and
// their variables: it is a cell or a package of a module.
func (u *Unit) hasVariables() bool { return u.Source != nil || u.Init }

// imports gives the program those objects of compiled packages that its units
// mention, and no others: some packages have thousands.
func (c *compiler) imports() {
	all := mentions{}
	for _, u := range append([]*Unit{c.unit}, c.unit.Generic...) {
		for pkg, objects := range c.mentions(u) {
			if c.isSource(pkg) {
				continue
			}
			if all[pkg] == nil {
				all[pkg] = map[types.Object]bool{}
			}
			maps.Copy(all[pkg], objects)
		}
	}
	for pkg, objects := range all {
		file, info := stub(objects)
		c.prog.CreatePackage(pkg, []*ast.File{file}, info, false)
	}
}

func (c *compiler) mentions(u *Unit) mentions {
	if u.mentioned != nil {
		return u.mentioned
	}
	u.mentioned = mentions{}
	for _, obj := range u.Info.Uses {
		pkg := obj.Pkg()
		if pkg == nil || pkg == u.Pkg || pkg == u.Outer || c.e.isInterpreted(pkg.Path()) || obj.Parent() != pkg.Scope() {
			continue
		}
		if u.mentioned[pkg] == nil {
			u.mentioned[pkg] = map[types.Object]bool{}
		}
		u.mentioned[pkg][obj] = true
	}
	return u.mentioned
}

func (c *compiler) isSource(pkg *types.Package) bool {
	for _, g := range c.unit.Generic {
		if g.Pkg == pkg {
			return true
		}
	}
	return pkg == c.unit.Pkg
}

// stub makes declarations of objects, all of them as constants are declared:
// the translator then takes them from their types alone.
func stub(objects map[types.Object]bool) (*ast.File, *types.Info) {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	spec := &ast.ValueSpec{}
	for obj := range objects {
		id := ast.NewIdent(obj.Name())
		info.Defs[id] = obj
		spec.Names = append(spec.Names, id)
	}
	decl := &ast.GenDecl{Tok: token.CONST, Specs: []ast.Spec{spec}}
	return &ast.File{Name: ast.NewIdent("stub"), Decls: []ast.Decl{decl}}, info
}

// program translates the functions that others may call, and what they need.
func (c *compiler) program(pkg *ssa.Package) *Program {
	p := &Program{engine: c.e}
	for obj, fn := range c.declared(pkg) {
		if code := c.codeOf(fn); code != nil {
			p.link = append(p.link, linkage{code, c.function(fn)})
		} else if obj.Name() == c.unit.Main {
			p.main = c.function(fn)
		}
	}
	if c.unit.Init {
		p.main = c.function(pkg.Func("init"))
	}
	c.relink()
	c.drain()
	p.link = append(p.link, c.link...)
	p.forwarded = c.unit.Forwarded
	return p
}

// declared lists the unit's functions and methods, generic ones excepted.
func (c *compiler) declared(pkg *ssa.Package) map[*types.Func]*ssa.Function {
	list := map[*types.Func]*ssa.Function{}
	for _, file := range c.unit.Files {
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			obj, ok := c.unit.Info.Defs[d.Name].(*types.Func)
			if !ok || isGeneric(obj) {
				continue
			}
			if fn := c.prog.FuncValue(obj); fn != nil && fn.Blocks != nil {
				list[obj] = fn
			}
		}
	}
	return list
}

func isGeneric(f *types.Func) bool {
	sig := f.Signature()
	return sig.TypeParams().Len() > 0 || sig.RecvTypeParams().Len() > 0
}

// function returns the translation of a function with a body; the body itself
// waits in the queue, since functions may be recursive.
func (c *compiler) function(fn *ssa.Function) *Func {
	f := c.funcs[fn]
	if f == nil {
		f = &Func{name: funcName(fn)}
		c.funcs[fn] = f
		c.queue = append(c.queue, fn)
	}
	return f
}

// drain translates what waits, and chooses the code of the methods of types
// that were made on the way.
func (c *compiler) drain() {
	for len(c.queue)+len(c.pending) > 0 {
		methods := c.pending
		c.pending = nil
		for _, m := range methods {
			m.clo.target = c.methodTarget(m.sel)
		}
		if u := c.unit; u.Abandoned != nil && u.Abandoned() {
			refuse(token.NoPos, "the cell was abandoned")
		}
		if len(c.queue) > 0 {
			fn := c.queue[0]
			c.queue = c.queue[1:]
			newBuilder(c, fn).translate()
		}
	}
}

// isLoopBody reports the body of a loop over a function, which SSA makes a function.
func isLoopBody(fn *ssa.Function) bool { return fn.Synthetic == "range-over-func yield" }

// funcName is how traces call a function.
func funcName(fn *ssa.Function) string {
	if fn.Parent() != nil {
		what := "a function literal"
		if isLoopBody(fn) {
			what = "the body of a loop"
		}
		outer := fn.Parent()
		for outer.Parent() != nil {
			outer = outer.Parent()
		}
		if name := funcName(outer); !strings.Contains(name, "·") {
			return what + " in " + name
		}
		return what
	}
	recv, method := fn.Signature.Recv(), fn.Name()
	if t, name, ok := strings.Cut(method, "·"); ok && t != "cell" { // a method checked as a function
		method, _, _ = strings.Cut(name, "[")
		if recv == nil {
			recv = fn.Signature.Params().At(0)
		}
	}
	if recv == nil {
		return method
	}
	return "(" + types.TypeString(recv.Type(), func(*types.Package) string { return "" }) + ")." + method
}

// codeOf returns the shared code cell of a declared function or method that
// is not generic, or nil.
func (c *compiler) codeOf(fn *ssa.Function) *Code {
	obj, ok := fn.Object().(*types.Func)
	if !ok || fn.Origin() != nil || isGeneric(obj) {
		return nil
	}
	if fn.Synthetic != "" && !strings.HasPrefix(fn.Synthetic, "from type information") {
		return nil // a wrapper
	}
	if code := c.unit.Funcs[obj]; code != nil {
		return code
	}
	for _, g := range c.unit.Generic {
		if code := g.Funcs[obj]; code != nil {
			return code
		}
	}
	if obj.Signature().Recv() != nil && c.isOwn(obj.Pkg()) {
		return c.e.methodCode(obj)
	}
	return nil
}

// isOwn reports whether a package is interpreted.
func (c *compiler) isOwn(pkg *types.Package) bool {
	return pkg != nil && (c.e.isInterpreted(pkg.Path()) || c.units[pkg] != nil)
}

// typ returns the reflect type of t.
func (c *compiler) typ(t types.Type, pos token.Pos) reflect.Type {
	r, err := c.e.types.Of(t)
	if err != nil {
		refuse(pos, "%v", err)
	}
	return r
}

// typ is that of the compiler, which learns here in which instance of a generic
// function local types are declared.
func (b *builder) typ(t types.Type, pos token.Pos) reflect.Type {
	if b.home != nil {
		inside := func(name *types.TypeName) bool { return b.home.Contains(name.Pos()) }
		b.e.types.Within(t, inside, b.homeArgs, b.homeSeen)
	}
	return b.compiler.typ(t, pos)
}

// findHome notes the scope of the generic function whose instance is translated,
// if that declares types.
func (b *builder) findHome() {
	root := b.ssa
	for root.Parent() != nil {
		root = root.Parent()
	}
	if root.Origin() == nil {
		return
	}
	if f, ok := root.Origin().Object().(*types.Func); ok && f.Scope() != nil && declaresTypes(f.Scope()) {
		b.home, b.homeArgs, b.homeSeen = f.Scope(), root.TypeArgs(), map[types.Type]bool{}
	}
}

// localNumber counts the types that functions of a unit declare.
func (e *Engine) localNumber(name *types.TypeName) int {
	if e.compile == nil || !name.Pos().IsValid() {
		return 0
	}
	u := e.compile.units[name.Pkg()]
	if u == nil {
		return 0
	}
	if u.locals == nil {
		u.locals = localTypes(u.Files)
	}
	return slices.Index(u.locals, name.Pos()) + 1
}

func localTypes(files []*ast.File) []token.Pos {
	list := []token.Pos{}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok && !spec.Assign.IsValid() {
					list = append(list, spec.Name.Pos())
				}
				return true
			})
		}
	}
	slices.Sort(list)
	return list
}

// declaresTypes reports whether a scope has a type in it that is not a parameter.
func declaresTypes(s *types.Scope) bool {
	for _, name := range s.Names() {
		if obj, ok := s.Lookup(name).(*types.TypeName); ok {
			if _, parameter := obj.Type().(*types.TypeParam); !parameter {
				return true
			}
		}
	}
	for child := range s.Children() {
		if declaresTypes(child) {
			return true
		}
	}
	return false
}

// variable returns the storage of a package variable.
func (c *compiler) variable(g *ssa.Global) *Var {
	obj := g.Object().(*types.Var)
	if v := c.unit.Vars[obj]; v != nil {
		return v
	}
	for _, u := range c.unit.Generic {
		if v := u.Vars[obj]; v != nil {
			return v
		}
	}
	pkg := obj.Pkg()
	if pkg.Path() == "os" && obj.Name() == "Args" {
		return c.e.args
	}
	host, ok := c.e.opts.Host.Symbol(pkg.Path(), obj.Name())
	if !ok || host.Kind() != reflect.Pointer {
		refuse(g.Pos(), "variable %s.%s is not part of this binary", pkg.Name(), obj.Name())
	}
	c.e.types.Learn(obj.Type(), host.Type().Elem())
	v := &Var{typ: obj.Type()}
	v.addr.Store(&storage{host.UnsafePointer(), host.Type().Elem()})
	return v
}
