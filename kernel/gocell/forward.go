package gocell

import (
	"go/ast"
	"go/types"
	"slices"

	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/rtype"
)

// A method of a generic type cannot leave the package that declares the type.
// When something it uses changes, or a later cell declares it, its source is
// checked as a generic function of that cell, and the method becomes a call of
// that function.

// receiverParams declares the type parameters of a method's receiver, nil when
// the type is not generic: their names are the method's, their constraints
// those of the type's declaration.
func (c *check) receiverParams(recv string, f *ast.FuncDecl) *ast.FieldList {
	sym := c.s.scope.symbols[recv]
	if sym == nil || sym.decl == nil || !isGenericObject(sym.obj) {
		return nil
	}
	spec := c.typeSpec(sym.decl)
	if spec == nil || spec.TypeParams == nil {
		return nil
	}
	own := receiverArgs(f)
	rename := map[string]string{}
	i := 0
	for _, field := range spec.TypeParams.List {
		for _, id := range field.Names {
			if i < len(own) {
				if own[i].Name == "_" { // the constraint of another may mention it
					own[i].Name = id.Name
				}
				rename[id.Name] = own[i].Name
			}
			i++
		}
	}
	ast.Inspect(spec.TypeParams, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && rename[id.Name] != "" {
			id.Name = rename[id.Name]
		}
		return true
	})
	return spec.TypeParams
}

// typeSpec parses the declaration of a type again. Only its specification is
// kept, which may have stood in parentheses.
func (c *check) typeSpec(d *declaration) *ast.TypeSpec {
	kept := blank(d.source.Text, []span{{0, d.piece.from}, {d.piece.to, len(d.source.Text)}})
	t := &text{source: d.source}
	c.lib.texts = append(c.lib.texts, t)
	file, _ := c.lib.parseText(t, declPrefix+"type ", kept, "")
	for _, decl := range file.Decls {
		if g, ok := decl.(*ast.GenDecl); ok && len(g.Specs) == 1 {
			spec, _ := g.Specs[0].(*ast.TypeSpec)
			return spec
		}
	}
	return nil
}

// receiverArgs lists the type parameters that a receiver names.
func receiverArgs(f *ast.FuncDecl) []*ast.Ident {
	var list []*ast.Ident
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		var args []ast.Expr
		switch n := n.(type) {
		case *ast.IndexExpr:
			args = []ast.Expr{n.Index}
		case *ast.IndexListExpr:
			args = n.Indices
		}
		for _, a := range args {
			if id, ok := a.(*ast.Ident); ok {
				list = append(list, id)
			}
		}
		return len(args) == 0
	})
	return list
}

// forward makes method m, of a generic type, a call of the function fn.
func (c *check) forward(u *eval.Unit, m, fn *types.Func) {
	home := c.s.scope.symbols[rtype.NamedOf(m.Signature().Recv().Type()).Obj().Name()].unit
	decl := methodDecl(home, m)
	if decl == nil { // a new method
		decl = &ast.FuncDecl{Name: ast.NewIdent(m.Name())}
		file, info := home.Files[0], home.Info
		file.Decls, info.Defs[decl.Name] = append(file.Decls, decl), m
		c.undo = append(c.undo, func() {
			file.Decls = slices.DeleteFunc(file.Decls, func(d ast.Decl) bool { return d == decl })
			delete(info.Defs, decl.Name)
		})
	} else {
		before := *decl
		c.undo = append(c.undo, func() { *decl = before })
	}
	forwarding(home.Info, decl, m, fn)
	u.Forwarded = append(u.Forwarded, m)
	if home != u {
		needs := home.Generic
		home.Generic = append(slices.Clone(needs), u)
		c.undo = append(c.undo, func() { home.Generic = needs })
	}
}

func methodDecl(u *eval.Unit, m *types.Func) *ast.FuncDecl {
	for _, file := range u.Files {
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok && u.Info.Defs[decl.Name] == m {
				return decl
			}
		}
	}
	return nil
}

// forwarding rewrites a checked method.
func forwarding(info *types.Info, decl *ast.FuncDecl, m, fn *types.Func) {
	sig := m.Signature()
	pos := decl.Name.Pos()
	call := &ast.CallExpr{Lparen: pos, Rparen: pos}
	param := func(v *types.Var) *ast.Field {
		def := &ast.Ident{NamePos: pos, Name: eval.Forwarding + v.Name()}
		local := types.NewParam(pos, m.Pkg(), def.Name, v.Type())
		info.Defs[def] = local
		use := &ast.Ident{NamePos: pos, Name: def.Name}
		info.Uses[use], info.Types[use] = local, types.TypeAndValue{Type: v.Type()}
		call.Args = append(call.Args, use)
		return &ast.Field{Names: []*ast.Ident{def}}
	}
	decl.Recv = &ast.FieldList{List: []*ast.Field{param(sig.Recv())}}
	decl.Type = &ast.FuncType{Func: pos, Params: &ast.FieldList{}}
	for v := range sig.Params().Variables() {
		decl.Type.Params.List = append(decl.Type.Params.List, param(v))
	}
	if sig.Variadic() {
		call.Ellipsis = pos
	}
	args := rtype.NamedOf(sig.Recv().Type()).TypeArgs() // its own type parameters
	inst, err := types.Instantiate(nil, fn.Type(), slices.Collect(args.Types()), false)
	if err != nil { // only the number of arguments is looked at, and that is right
		panic(err)
	}
	fun := &ast.Ident{NamePos: pos, Name: fn.Name()}
	info.Uses[fun], info.Types[fun] = fn, types.TypeAndValue{Type: inst}
	info.Instances[fun] = types.Instance{TypeArgs: args, Type: inst}
	call.Fun = fun
	results := inst.(*types.Signature).Results()
	if results.Len() == 0 {
		info.Types[call] = types.TypeAndValue{Type: results}
		decl.Body = &ast.BlockStmt{List: []ast.Stmt{&ast.ExprStmt{X: call}}}
		return
	}
	decl.Type.Results = &ast.FieldList{}
	for range results.Len() {
		decl.Type.Results.List = append(decl.Type.Results.List, &ast.Field{})
	}
	info.Types[call] = types.TypeAndValue{Type: results}
	if results.Len() == 1 {
		info.Types[call] = types.TypeAndValue{Type: results.At(0).Type()}
	}
	decl.Body = &ast.BlockStmt{List: []ast.Stmt{&ast.ReturnStmt{Return: pos, Results: []ast.Expr{call}}}}
}

func isGenericMethod(m *types.Func) bool { return m.Signature().RecvTypeParams().Len() > 0 }
