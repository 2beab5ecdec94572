package gocell

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"forgekernel/display"
	"forgekernel/kernel/gocell/eval"
)

// commit translates a checked cell and makes its names those of the session.
func (c *check) commit() (*prepared, error) {
	c.quiet, c.errLast = c.isPrinting(), c.endsInError()
	objects := c.newObjects()
	defines := c.takenBack(objects)
	c.lower()
	renewed := c.renewMethods()
	unit, err := c.unit(objects)
	if err != nil {
		return nil, c.compileError([]fault{{at: -1, message: err.Error()}})
	}
	unit.Renewed, unit.Abandoned = renewed, c.decided.Load
	program, err := c.s.engine.Compile(unit)
	var refusal *eval.Unsupported
	if errors.As(err, &refusal) {
		f := fault{at: -1, message: refusal.Reason}
		if src, at, ok := c.lib.position(refusal.Pos); ok {
			f.src, f.at = src, at
		}
		return nil, c.compileError([]fault{f})
	}
	if err != nil {
		return nil, err
	}
	if c.ctx.Err() != nil || !c.decided.CompareAndSwap(false, true) {
		return nil, errAbandoned
	}
	program.Link()
	p := &prepared{program: program, shown: shownValues{quiet: c.quiet, errLast: c.errLast}, defines: defines}
	c.record(objects, unit)
	for name, d := range defines {
		d.now = c.s.scope.symbols[name]
		defines[name] = d
	}
	p.warnings = c.reportBroken()
	return p, nil
}

// renewMethods prepares the engine for methods of earlier cells' types that are
// new or have a new signature, and lists the types that are to be made anew.
func (c *check) renewMethods() []types.Type {
	var changed []*types.Named
	for _, m := range c.methods {
		if m.before != nil {
			c.undo = append(c.undo, c.s.engine.Alter(m.object))
		}
		if m.altered {
			changed = append(changed, m.named)
		}
	}
	return c.s.engine.Renew(changed...)
}

// takenBack lists the variables whose names a failure of the cell takes back:
// those that are new, and those of another type than before that no function
// uses. What uses them has been translated for the new type.
func (c *check) takenBack(objects map[string]types.Object) map[string]definedVar {
	var functions []ast.Node
	for _, d := range c.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f != c.main {
			functions = append(functions, f)
		}
	}
	used := c.uses(functions...)
	list := map[string]definedVar{}
	for name, by := range c.definitions() {
		obj, old := objects[name], c.s.scope.symbols[name]
		if obj == nil || kindOf(obj) != "var" || used[name] || old != nil && sameMeaning(old, obj) {
			continue
		}
		list[name] = definedVar{by: by, former: old}
	}
	return list
}

// definitions tells what gives the cell's variables their values.
func (c *check) definitions() map[string]span {
	list := map[string]span{}
	for _, st := range c.syn.stmts {
		if a, ok := unlabelled(st).(*ast.AssignStmt); ok {
			for _, l := range a.Lhs {
				if id, ok := l.(*ast.Ident); ok && (c.info.Defs[id] != nil || c.hoisted[id.Name]) {
					if _, seen := list[id.Name]; !seen {
						list[id.Name] = c.lib.span(a)
					}
				}
			}
		}
	}
	for _, d := range c.syn.decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, spec := range g.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, id := range v.Names {
						list[id.Name] = c.lib.span(v)
					}
				}
			}
		}
	}
	return list
}

func unlabelled(st ast.Stmt) ast.Stmt {
	for {
		l, ok := st.(*ast.LabeledStmt)
		if !ok {
			return st
		}
		st = l.Stmt
	}
}

// unit describes the cell to the engine.
func (c *check) unit(objects map[string]types.Object) (*eval.Unit, error) {
	u := &eval.Unit{
		Fset: c.lib.fset, Pkg: c.pkg, Files: []*ast.File{c.file}, Info: c.info, Outer: c.outer,
		Vars: map[*types.Var]*eval.Var{}, Funcs: map[*types.Func]*eval.Code{},
		Position: c.lib.position, Main: mainName, Source: c.src,
	}
	for obj, sym := range c.outside {
		switch obj := obj.(type) {
		case *types.Var:
			u.Vars[obj] = sym.variable
		case *types.Func:
			if sym.code != nil {
				u.Funcs[obj] = sym.code
			}
		}
	}
	for name, obj := range objects {
		old := c.s.scope.symbols[name]
		switch obj := obj.(type) {
		case *types.Var:
			if old != nil && old.variable != nil && sameMeaning(old, obj) {
				u.Vars[obj] = old.variable
			} else {
				u.Vars[obj] = eval.NewVar(obj.Type())
			}
		case *types.Func:
			u.Funcs[obj] = c.codeFor(old, obj)
		}
	}
	c.blanks(u)
	for _, m := range c.methods {
		if fn := c.info.Defs[m.decl.Name].(*types.Func); isGenericObject(fn) {
			c.forward(u, m.object, fn)
		} else {
			u.Funcs[fn] = c.s.engine.MethodCode(m.object)
		}
	}
	for _, f := range c.inits {
		u.Funcs[c.info.Defs[f.Name].(*types.Func)] = &eval.Code{Name: "init"}
	}
	c.pulledCode(u)
	return u, c.generics(u)
}

// codeFor returns the code cell of a function: the old one when callers of the
// old function can call the new one.
func (c *check) codeFor(old *symbol, obj *types.Func) *eval.Code {
	if old != nil && old.code != nil && sameMeaning(old, obj) {
		return old.code
	}
	return &eval.Code{Name: obj.Name()}
}

// blanks gives variables named _ storage that nobody sees.
func (c *check) blanks(u *eval.Unit) {
	for id, obj := range c.info.Defs {
		if v, ok := obj.(*types.Var); ok && id.Name == "_" && v.Parent() == c.pkg.Scope() {
			u.Vars[v] = eval.NewVar(v.Type())
		}
	}
}

// pulledCode gives declarations of earlier cells their code cells.
func (c *check) pulledCode(u *eval.Unit) {
	for _, p := range c.pulled {
		for _, d := range p.syntax {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			obj := c.info.Defs[f.Name].(*types.Func)
			if p.decl.recv == "" {
				u.Funcs[obj] = c.codeFor(c.s.scope.symbols[p.decl.name], obj)
				continue
			}
			if c.declared[p.decl.recv] {
				continue // a method of a type of this cell
			}
			m := c.s.scope.method(p.decl)
			if isGenericObject(obj) {
				c.forward(u, m, obj)
			} else {
				u.Funcs[obj] = c.s.engine.MethodCode(m)
			}
		}
	}
}

// generics lists the earlier units whose generic code the cell may need: those
// whose functions and types it has to do with, and those that they need. Methods
// that are renewed may be of any.
func (c *check) generics(u *eval.Unit) error {
	var list []*eval.Unit
	any := len(u.Forwarded) > 0 || slices.ContainsFunc(c.methods, func(m *method) bool { return m.altered })
	var met map[*types.Package]bool
	if len(c.s.scope.units) > 0 && !any {
		met = packagesOf(u)
	}
	for _, g := range c.s.scope.units {
		if any || met[g.Pkg] {
			list = append(list, g)
		}
	}
	for _, obj := range c.info.Uses {
		if obj.Pkg() == nil {
			continue
		}
		g, err := c.s.unitOfSource(obj.Pkg().Path())
		if err != nil {
			return err
		}
		if g != nil {
			list = append(list, g)
		}
	}
	u.Generic = withNeeded(list)
	return nil
}

// withNeeded adds the units that units need, before them.
func withNeeded(list []*eval.Unit) []*eval.Unit {
	var all []*eval.Unit
	taken := map[*eval.Unit]bool{}
	var take func(u *eval.Unit)
	take = func(u *eval.Unit) {
		if !taken[u] {
			taken[u] = true
			for _, dep := range u.Generic {
				take(dep)
			}
			all = append(all, u)
		}
	}
	for _, u := range list {
		take(u)
	}
	return all
}

// packagesOf lists the packages whose objects and generic types a unit has to do
// with.
func packagesOf(u *eval.Unit) map[*types.Package]bool {
	list := map[*types.Package]bool{}
	for _, obj := range u.Info.Uses {
		list[obj.Pkg()] = true
	}
	w := typeWalk{seen: map[types.Type]bool{}, instance: func(inst *types.Named) { list[inst.Obj().Pkg()] = true }}
	for _, t := range typesOf(u) {
		w.walk(t)
	}
	return list
}

// record enters what the cell declares into the session.
func (c *check) record(objects map[string]types.Object, u *eval.Unit) {
	sc := c.s.scope
	for name, path := range c.imported {
		sc.symbols[name] = &symbol{name: name, kind: "import", path: path, cell: c.src.Name}
	}
	for _, path := range c.dots {
		sc.dots = append(slices.DeleteFunc(sc.dots, func(p string) bool { return p == path }), path)
	}
	decls := c.declarations()
	generic := false
	for name, obj := range objects {
		sym := &symbol{name: name, kind: kindOf(obj), obj: obj, cell: c.src.Name, decl: decls[name]}
		switch obj := obj.(type) {
		case *types.Var:
			sym.variable = u.Vars[obj]
			sym.obj = types.NewVar(token.NoPos, nil, name, obj.Type()) // lets go of the cell's scope
		case *types.Func:
			sym.code = u.Funcs[obj]
		}
		if isGenericObject(obj) {
			sym.unit, generic = u, true
		}
		sc.symbols[name] = sym
	}
	if generic || len(u.Forwarded) > 0 {
		sc.units = append(sc.units, u)
	}
	c.recordMethods(decls)
	for _, p := range c.pulled {
		if sym := sc.symbols[p.decl.name]; p.decl.recv == "" && sym != nil && sym.kind == "func" {
			obj := c.pkg.Scope().Lookup(p.decl.name).(*types.Func)
			sym.obj, sym.code, sym.broken = obj, u.Funcs[obj], nil
			if isGenericObject(obj) {
				sym.unit = u
			}
		}
	}
}

func (c *check) recordMethods(decls map[string]*declaration) {
	for _, d := range decls {
		c.s.scope.addMethod(d)
	}
	for _, p := range c.pulled {
		if c.declared[p.decl.recv] {
			c.s.scope.addMethod(p.decl)
		}
	}
}

// declarations describes the cell's functions, methods and types. Methods are
// listed as Type.Name.
func (c *check) declarations() map[string]*declaration {
	list := map[string]*declaration{}
	enter := func(key string, n ast.Node, d *declaration) {
		d.source, d.piece, d.uses = c.src, c.lib.span(n), c.uses(n)
		list[key] = d
	}
	for _, d := range c.syn.decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				enter(d.Name.Name, d, &declaration{name: d.Name.Name})
			} else if base := receiverBase(d); base != "" && d.Name.Name != "_" && d.Type.TypeParams == nil {
				enter(base+"."+d.Name.Name, d, &declaration{name: d.Name.Name, recv: base})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					piece := c.lib.span(t)
					enter(t.Name.Name, t, &declaration{name: t.Name.Name, text: normal(c.src.Text[piece.from:piece.to])})
				}
			}
		}
	}
	for _, m := range c.methods {
		d := &declaration{name: m.name, recv: m.recv, source: c.src, uses: c.uses(m.decl)}
		d.piece = span{c.lib.span(m.decl.Type).from, c.lib.span(m.decl).to}
		list[m.recv+"."+m.name] = d
	}
	return list
}

// reportBroken makes the calls of declarations that no longer compile fail,
// and says which those are.
func (c *check) reportBroken() []display.Diagnostic {
	var list []display.Diagnostic
	for _, b := range c.broken {
		reason := errors.New(b.reason())
		hint := "run its cell again with a version that fits; until then calling it fails"
		if c.declared[b.decl.recv] {
			reason = fmt.Errorf("method %s (%s) does not fit the new type: %s", b.decl.title(), b.decl.source.Name, b.why.message)
			hint = "declare it again; until then " + b.decl.recv + " has no such method"
		}
		if m := c.s.scope.method(b.decl); m != nil && isGenericMethod(m) {
			c.s.engine.FailMethod(m, reason)
		} else if sym := c.s.scope.symbols[b.decl.name]; b.decl.recv == "" && sym != nil && isGenericObject(sym.obj) {
			sym.broken = reason
		} else if code := c.brokenCode(b.decl); code != nil {
			code.Fail(reason)
		}
		d := b.why.diagnostic(b.decl.source)
		d.Message = reason.Error()
		d.Hint, d.Warning = hint, true
		list = append(list, d)
	}
	return list
}

func (c *check) brokenCode(d *declaration) *eval.Code {
	if d.recv == "" {
		if sym := c.s.scope.symbols[d.name]; sym != nil {
			return sym.code
		}
		return nil
	}
	if m := c.s.scope.method(d); m != nil {
		return c.s.engine.MethodCode(m)
	}
	return nil
}
