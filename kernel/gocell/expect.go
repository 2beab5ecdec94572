package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
)

// expected is the type that an expression at an offset should have, nil when
// anything may stand there.
func (c *check) expected(offset int) types.Type {
	path := c.at(offset)
	for i := len(path) - 1; i > 0; i-- {
		if _, isExpr := path[i].(ast.Expr); !isExpr {
			return nil
		}
		if t := c.expectedIn(path[:i], path[i]); t != nil {
			return concrete(t)
		}
		switch path[i-1].(type) {
		case *ast.ParenExpr, *ast.UnaryExpr:
		default:
			if _, isStmt := path[i-1].(ast.Stmt); !isStmt {
				return nil
			}
		}
	}
	return nil
}

// concrete is a type that says something about its values.
func concrete(t types.Type) types.Type {
	if b, ok := t.(*types.Basic); ok && b.Kind() == types.Invalid {
		return nil
	}
	if i, ok := t.Underlying().(*types.Interface); ok && i.Empty() {
		return nil
	}
	if _, ok := t.(*types.TypeParam); ok {
		return nil
	}
	return types.Default(t)
}

// expectedIn is the type that a node should have where it stands in the last of
// the nodes around it.
func (c *check) expectedIn(around []ast.Node, n ast.Node) types.Type {
	switch p := around[len(around)-1].(type) {
	case *ast.CallExpr:
		return c.parameter(p, n)
	case *ast.BinaryExpr:
		if p.Op != token.SHL && p.Op != token.SHR {
			return c.typeOf(other(p.X, p.Y, n))
		}
	case *ast.AssignStmt:
		if i := indexIn(p.Rhs, n); i >= 0 && i < len(p.Lhs) && p.Tok != token.DEFINE {
			return c.typeOf(p.Lhs[i])
		}
	case *ast.ValueSpec:
		if p.Type != nil && p.Type != n {
			return c.typeOf(p.Type)
		}
	case *ast.SendStmt:
		if ch, ok := under(c.typeOf(p.Chan)).(*types.Chan); ok && p.Value == n {
			return ch.Elem()
		}
	case *ast.IndexExpr:
		if m, ok := under(c.typeOf(p.X)).(*types.Map); ok && p.Index == n {
			return m.Key()
		}
	case *ast.CaseClause:
		return c.tag(around, p, n)
	case *ast.ReturnStmt:
		return c.result(around, p, n)
	case *ast.KeyValueExpr:
		if lit, ok := around[max(len(around)-2, 0)].(*ast.CompositeLit); ok {
			return c.part(lit, p, n)
		}
	case *ast.CompositeLit:
		if s, ok := under(c.typeOf(p)).(interface{ Elem() types.Type }); ok && p.Type != n {
			return s.Elem()
		}
	}
	return nil
}

func (c *check) typeOf(x ast.Expr) types.Type {
	if x == nil {
		return nil
	}
	if id, ok := x.(*ast.Ident); ok {
		if obj := c.info.ObjectOf(id); obj != nil {
			return obj.Type()
		}
	}
	return c.info.Types[x].Type
}

func under(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

func other(x, y ast.Expr, n ast.Node) ast.Expr {
	if x == n {
		return y
	}
	return x
}

// indexIn is the place of an expression in a list, or -1.
func indexIn(list []ast.Expr, n ast.Node) int {
	for i, x := range list {
		if x == n {
			return i
		}
	}
	return -1
}

// parameter is the type of what a call passes.
func (c *check) parameter(call *ast.CallExpr, n ast.Node) types.Type {
	i := indexIn(call.Args, n)
	f, ok := under(c.typeOf(call.Fun)).(*types.Signature)
	if sel, isSel := call.Fun.(*ast.SelectorExpr); isSel && !ok {
		f, ok = under(c.typeOf(sel.Sel)).(*types.Signature)
	}
	if !ok || i < 0 {
		return nil
	}
	last := f.Params().Len() - 1
	switch {
	case f.Variadic() && i >= last:
		s, ok := f.Params().At(last).Type().(*types.Slice)
		if !ok {
			return nil
		}
		return s.Elem()
	case i <= last:
		return f.Params().At(i).Type()
	}
	return nil
}

// tag is the type of what a switch compares.
func (c *check) tag(around []ast.Node, clause *ast.CaseClause, n ast.Node) types.Type {
	if len(around) < 3 || indexIn(clause.List, n) < 0 {
		return nil
	}
	if s, ok := around[len(around)-3].(*ast.SwitchStmt); ok && s.Tag != nil {
		return c.typeOf(s.Tag)
	}
	return nil
}

// result is the type of what a return gives.
func (c *check) result(around []ast.Node, ret *ast.ReturnStmt, n ast.Node) types.Type {
	i := indexIn(ret.Results, n)
	for k := len(around) - 1; k >= 0 && i >= 0; k-- {
		var f *types.Signature
		switch d := around[k].(type) {
		case *ast.FuncLit:
			f, _ = c.typeOf(d).(*types.Signature)
		case *ast.FuncDecl:
			f, _ = c.typeOf(d.Name).(*types.Signature)
		default:
			continue
		}
		if f == nil || i >= f.Results().Len() {
			return nil
		}
		return f.Results().At(i).Type()
	}
	return nil
}

// part is the type of a key or value of a literal.
func (c *check) part(lit *ast.CompositeLit, kv *ast.KeyValueExpr, n ast.Node) types.Type {
	switch t := under(c.typeOf(lit)).(type) {
	case *types.Map:
		if kv.Key == n {
			return t.Key()
		}
		return t.Elem()
	case *types.Struct:
		if key, ok := kv.Key.(*ast.Ident); ok && kv.Value == n {
			for f := range t.Fields() {
				if f.Name() == key.Name {
					return f.Type()
				}
			}
		}
	case interface{ Elem() types.Type }:
		if kv.Value == n {
			return t.Elem()
		}
	}
	return nil
}

// fits reports whether obj has a type, or is a function that returns it.
func fits(obj types.Object, want types.Type) bool {
	if want == nil || obj == nil {
		return false
	}
	switch obj := obj.(type) {
	case *types.Func:
		r := obj.Signature().Results()
		return types.AssignableTo(obj.Type(), want) || r.Len() == 1 && types.AssignableTo(r.At(0).Type(), want)
	case *types.Var, *types.Const:
		return types.AssignableTo(obj.Type(), want)
	}
	return false
}

// constantsOf offers the constants of a type that another package declares, as
// that of time does time.Monday.
func constantsOf(want types.Type, set *candidates) {
	named, ok := want.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() == "main" {
		return
	}
	pkg := named.Obj().Pkg()
	for _, name := range pkg.Scope().Names() {
		k, ok := pkg.Scope().Lookup(name).(*types.Const)
		if ok && k.Exported() && types.Identical(k.Type(), want) {
			cand := candidate(k)
			cand.Text = pkg.Name() + "." + name
			set.addRanked(rankFits, cand)
		}
	}
}
