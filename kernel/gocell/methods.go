package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"forgekernel/kernel/gocell/rtype"
)

// The checker takes no method on a type that another cell declared. Such a
// method is checked as a function with its receiver as the first parameter,
// and a method object is added to the type, so that the type stays what it is
// and values made before have the method too.

// method is a method that a cell declares on a type of an earlier cell.
type method struct {
	recv, name string
	named      *types.Named
	decl       *ast.FuncDecl // the function
	object     *types.Func   // of the type
	before     *types.Func   // what object was, to go back
	added      bool          // there was no such method
	altered    bool          // its signature is new
}

// separateMethods takes out of the cell the methods of other cells' types.
func (c *check) separateMethods() []fault {
	var faults []fault
	var rest []ast.Decl
	for _, d := range c.syn.decls {
		f, ok := d.(*ast.FuncDecl)
		base := ""
		if ok {
			base = c.throughAliases(f)
		}
		sym := c.s.scope.symbols[base]
		if base != "" && !c.declared[base] && sym == nil && c.isDotted(base) {
			faults = append(faults, fault{at: c.lib.span(f.Recv).from, message: "cannot define new methods on non-local type " + base})
			continue
		}
		if base == "" || c.declared[base] || sym == nil || sym.kind != "type" {
			rest = append(rest, d)
			continue
		}
		at := c.lib.span(f.Recv).from
		switch named := c.s.scope.named(base); {
		case named == nil:
			faults = append(faults, fault{at: at, message: base + " is another name for a type; declare the method on that type"})
		case f.Name.Name == "_": // checked, and no method of the type
			rest = append(rest, asFunction(f, "", c.receiverParams(base, f)))
		default:
			c.methods = append(c.methods, &method{recv: base, name: f.Name.Name, named: named, decl: asFunction(f, base, c.receiverParams(base, f))})
		}
	}
	c.syn.decls = rest
	return faults
}

// throughAliases is the type that a method's receiver stands for, which is then
// written in its place: of this cell or of an earlier one.
func (c *check) throughAliases(f *ast.FuncDecl) string {
	base := receiverBase(f)
	name := base
	for seen := map[string]bool{}; !seen[name]; {
		seen[name] = true
		if c.declared[name] {
			if target := c.aliased(name); target != "" {
				name = target
			}
			continue
		}
		sym := c.s.scope.symbols[name]
		if sym == nil || sym.kind != "type" {
			break
		}
		if alias, ok := sym.obj.Type().(*types.Alias); ok && alias.TypeParams().Len() == 0 {
			named, ok := types.Unalias(alias).(*types.Named)
			if ok && c.s.scope.named(named.Obj().Name()) == named && named.TypeArgs().Len() == 0 {
				name = named.Obj().Name()
			}
		}
	}
	if name != base && !c.declared[name] {
		ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == base {
				id.Name = name
			}
			return true
		})
		return name
	}
	return base
}

// aliased is the name that the cell declares another one for.
func (c *check) aliased(name string) string {
	for _, d := range c.syn.decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			if t, ok := s.(*ast.TypeSpec); ok && t.Name.Name == name && t.Assign.IsValid() && t.TypeParams == nil {
				if id, ok := ast.Unparen(t.Type).(*ast.Ident); ok {
					return id.Name
				}
			}
		}
	}
	return ""
}

// isDotted reports whether a name comes from a package that is dot-imported.
func (c *check) isDotted(name string) bool {
	for _, path := range append(slices.Clone(c.dots), c.s.scope.dots...) {
		if pkg, err := c.importer().Import(path); err == nil && pkg.Scope().Lookup(name) != nil && ast.IsExported(name) {
			return true
		}
	}
	return false
}

// receiverBase is the type name of a method's receiver, empty for a function.
func receiverBase(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// asFunction makes the receiver the first parameter, and the type parameters
// of a generic receiver those of the function. Without a base its name is _.
func asFunction(f *ast.FuncDecl, base string, typeParams *ast.FieldList) *ast.FuncDecl {
	params := &ast.FieldList{Opening: f.Recv.Opening, Closing: f.Recv.Closing}
	for _, field := range append(append([]*ast.Field(nil), f.Recv.List...), f.Type.Params.List...) {
		if len(field.Names) == 0 {
			field = &ast.Field{Names: []*ast.Ident{{NamePos: field.Pos(), Name: "_"}}, Type: field.Type}
		}
		params.List = append(params.List, field)
	}
	name := base + "·" + f.Name.Name
	if base == "" {
		name = "_"
	}
	return &ast.FuncDecl{
		Name: &ast.Ident{NamePos: f.Name.NamePos, Name: name},
		Type: &ast.FuncType{Func: f.Type.Func, TypeParams: typeParams, Params: params, Results: f.Type.Results},
		Body: f.Body,
	}
}

// signatures tells when the checker knows all signatures of a file: it is then
// asked for the size of a variable that stands between functions and variables.
type signatures struct {
	types.Sizes
	probe *types.Var
	known func()
}

// Sizeof implements types.Sizes.
func (s *signatures) Sizeof(t types.Type) int64 {
	if t == s.probe.Type() {
		s.known()
	}
	return s.Sizes.Sizeof(t)
}

// withMethods checks a cell that declares methods of earlier cells' types. These
// get their method objects when the checker knows all signatures, which may name
// types of the cell, and before it comes to what may call the methods: the
// initial values of variables and the bodies of functions.
func (c *check) withMethods(config *types.Config, file *ast.File) {
	s := &signatures{Sizes: config.Sizes, known: c.addMethods}
	s.probe = types.NewVar(token.NoPos, c.pkg, "cell·probe", types.NewStruct(nil, nil))
	c.pkg.Scope().Insert(s.probe)
	config.Sizes = s
	const lib = "cell·unsafe"
	sizeof := &ast.SelectorExpr{X: ast.NewIdent(lib), Sel: ast.NewIdent("Sizeof")}
	question := &ast.ValueSpec{
		Names: []*ast.Ident{ast.NewIdent("_")}, Values: []ast.Expr{&ast.CallExpr{Fun: sizeof, Args: []ast.Expr{ast.NewIdent(s.probe.Name())}}},
	}
	ask := &ast.GenDecl{Tok: token.VAR, Specs: []ast.Spec{question}}
	turn := func(d ast.Decl) int {
		switch g, _ := d.(*ast.GenDecl); {
		case g == ask:
			return 2
		case g != nil && g.Tok == token.VAR:
			return 3
		case g != nil && g.Tok == token.IMPORT:
			return 0
		}
		return 1
	}
	all := file.Decls
	file.Decls = append(slices.Clone(all), ask, &ast.GenDecl{Tok: token.IMPORT, Specs: []ast.Spec{importSpec(lib, "unsafe")}})
	slices.SortStableFunc(file.Decls, func(a, b ast.Decl) int { return turn(a) - turn(b) })
	types.NewChecker(config, c.lib.fset, c.pkg, c.info).Files([]*ast.File{file})
	file.Decls = all
	delete(c.info.Defs, question.Names[0])
}

// addMethods gives the types their new method objects.
func (c *check) addMethods() {
	for _, m := range c.methods {
		if f, ok := c.info.Defs[m.decl.Name].(*types.Func); ok {
			c.s.engine.Reshape(func([]types.Type) { m.attach(f.Signature(), c.pkg) })
		}
	}
	c.renewGrown()
}

// renewGrown shows instances of generic types their new methods.
func (c *check) renewGrown() {
	any := false
	for _, m := range c.methods {
		if m.altered && m.named.TypeParams().Len() > 0 {
			c.s.scope.grown.add(m.named, m.object)
			any = true
		}
	}
	if any {
		c.s.renewInstances()
	}
}

// attach adds the method to its type, or gives the one that is there the new
// signature.
func (m *method) attach(sig *types.Signature, pkg *types.Package) {
	full := asMethod(sig, pkg)
	if m.altered { // when the cell was checked before, with types that are no more
		*m.object = *types.NewFunc(0, m.object.Pkg(), m.name, full)
		return
	}
	for i := range m.named.NumMethods() {
		old := m.named.Method(i)
		if old.Name() != m.name {
			continue
		}
		m.object = old
		if was := signatureFor(full, m.named, i); types.Identical(was, full) && types.Identical(was.Recv().Type(), full.Recv().Type()) {
			return
		}
		before := *old
		m.before, m.altered = &before, true
		*old = *types.NewFunc(0, old.Pkg(), m.name, full)
		return
	}
	m.object = types.NewFunc(0, m.named.Obj().Pkg(), m.name, full)
	m.added, m.altered = true, true
	m.named.AddMethod(m.object)
}

// asMethod makes the first parameter of a function the receiver, and its type
// parameters those of the receiver.
func asMethod(fn *types.Signature, pkg *types.Package) *types.Signature {
	sig := fn
	var own []*types.TypeParam
	if sig.TypeParams().Len() > 0 {
		var args []types.Type
		for p := range sig.TypeParams().TypeParams() {
			q := types.NewTypeParam(types.NewTypeName(p.Obj().Pos(), pkg, p.Obj().Name(), nil), p.Constraint())
			own, args = append(own, q), append(args, q)
		}
		inst, err := types.Instantiate(nil, sig, args, false)
		if err != nil { // only the number of arguments is looked at, and that is right
			panic(err)
		}
		sig = inst.(*types.Signature)
	}
	params := slices.Collect(sig.Params().Variables())
	recv := types.NewVar(0, pkg, params[0].Name(), params[0].Type())
	method := types.NewSignatureType(recv, own, nil, types.NewTuple(params[1:]...), sig.Results(), sig.Variadic())
	*scopeOf(method) = *scopeOf(fn) // the translator asks what is declared in a generic function
	return method
}

// signatureFor is the signature of a type's method in terms of the receiver's
// type parameters of another one.
func signatureFor(other *types.Signature, named *types.Named, i int) *types.Signature {
	if named.TypeParams().Len() > 0 {
		if args := rtype.NamedOf(other.Recv().Type()).TypeArgs(); args.Len() == named.TypeParams().Len() {
			inst, err := types.Instantiate(nil, named, slices.Collect(args.Types()), false)
			if err != nil { // only the number of arguments is looked at, and that is right
				panic(err)
			}
			named = inst.(*types.Named)
		}
	}
	return named.Method(i).Signature()
}

// rollback undoes attach. A method cannot be taken from a type, but it can be
// given a name that nobody can spell.
func (m *method) rollback() {
	switch {
	case m.before != nil:
		*m.object = *m.before
	case m.added:
		*m.object = *types.NewFunc(0, m.object.Pkg(), "·"+m.name, m.object.Signature())
	}
}
