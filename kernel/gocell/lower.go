package gocell

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// lower rewrites the checked syntax into the form that the engine translates:
// top-level variables become package variables, their initialisation becomes
// assignments in the order in which things happen, and a cell's init and main
// functions are called.
func (c *check) lower() {
	c.main.Body.List = c.sequence()
	c.globalise()
	c.rangeConstants()
	c.info.InitOrder = nil
	for _, h := range c.hoists {
		h.spec.Values = nil
	}
	for _, d := range c.syn.decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, s := range g.Specs {
				s.(*ast.ValueSpec).Values = nil
			}
		}
	}
}

// item is a part of a cell that does something, in source order.
type item struct {
	at    int
	stmts []ast.Stmt
	vars  *ast.GenDecl // whose variables it initialises
}

// sequence puts statements and initialisations in order. Declarations with no
// statement between them are initialised together, in Go's order.
func (c *check) sequence() []ast.Stmt {
	var items []item
	for i, st := range c.main.Body.List {
		items = append(items, item{at: c.lib.span(c.original(i, st)).from, stmts: []ast.Stmt{st}})
	}
	for _, d := range c.syn.decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			items = append(items, item{at: c.lib.span(g).from, vars: g})
		}
	}
	slices.SortStableFunc(items, func(a, b item) int { return a.at - b.at })
	var list []ast.Stmt
	for i := 0; i < len(items); {
		if items[i].vars == nil {
			list = append(list, items[i].stmts...)
			i++
			continue
		}
		var group []*ast.GenDecl
		for ; i < len(items) && items[i].vars != nil; i++ {
			group = append(group, items[i].vars)
		}
		list = append(list, c.initialise(group)...)
	}
	return append(list, c.entryCalls()...)
}

// original is the statement as it was written.
func (c *check) original(i int, st ast.Stmt) ast.Stmt {
	if i < len(c.syn.stmts) {
		return c.syn.stmts[i]
	}
	return st
}

// initialise assigns the initial values of the variables of some declarations.
// A variable without one is set to zero, since its storage may be that of an
// earlier variable of the same name and type.
func (c *check) initialise(group []*ast.GenDecl) []ast.Stmt {
	var list []ast.Stmt
	mine := map[*types.Var]bool{}
	for _, g := range group {
		for _, s := range g.Specs {
			spec := s.(*ast.ValueSpec)
			for _, id := range spec.Names {
				obj, _ := c.info.Defs[id].(*types.Var)
				mine[obj] = true
				if len(spec.Values) == 0 && id.Name != "_" {
					list = append(list, c.assign([]*types.Var{obj}, c.zero(id, obj.Type())))
				}
			}
		}
	}
	for _, init := range c.info.InitOrder {
		if mine[init.Lhs[0]] {
			list = append(list, c.assign(init.Lhs, init.Rhs))
		}
	}
	return list
}

func (c *check) assign(vars []*types.Var, value ast.Expr) ast.Stmt {
	a := &ast.AssignStmt{Tok: token.ASSIGN, TokPos: value.Pos(), Rhs: []ast.Expr{value}}
	for _, v := range vars {
		id := &ast.Ident{NamePos: value.Pos(), Name: v.Name()}
		if v.Name() != "_" {
			c.info.Uses[id] = v
			c.info.Types[id] = types.TypeAndValue{Type: v.Type()}
		}
		a.Lhs = append(a.Lhs, id)
	}
	return a
}

// zero is an expression for the zero value of any type: nil, typed.
func (c *check) zero(at ast.Node, t types.Type) ast.Expr {
	id := &ast.Ident{NamePos: at.Pos(), Name: "nil"}
	c.info.Uses[id] = types.Universe.Lookup("nil")
	c.info.Types[id] = types.TypeAndValue{Type: t}
	return id
}

// entryCalls calls the cell's init functions and its main.
func (c *check) entryCalls() []ast.Stmt {
	var list []ast.Stmt
	call := func(name *ast.Ident) {
		obj := c.info.Defs[name]
		fun := &ast.Ident{NamePos: name.Pos(), Name: name.Name}
		c.info.Uses[fun] = obj
		c.info.Types[fun] = types.TypeAndValue{Type: obj.Type()}
		expr := &ast.CallExpr{Fun: fun, Lparen: name.Pos(), Rparen: name.Pos()}
		c.info.Types[expr] = types.TypeAndValue{Type: types.NewTuple()}
		list = append(list, &ast.ExprStmt{X: expr})
	}
	for _, f := range c.inits {
		call(f.Name)
	}
	for _, d := range c.syn.decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "main" {
			call(f.Name)
		}
	}
	return list
}

// globalise makes package variables of the variables that top-level statements
// define.
func (c *check) globalise() {
	vars := &ast.GenDecl{Tok: token.VAR}
	for _, st := range c.syn.stmts {
		def := definition(st)
		if def == nil {
			continue
		}
		def.Tok = token.ASSIGN
		for _, l := range def.Lhs {
			id, ok := l.(*ast.Ident)
			obj, isVar := c.info.Defs[id].(*types.Var)
			if !ok || !isVar || id.Name == "_" {
				continue
			}
			delete(c.info.Defs, id)
			c.info.Uses[id] = obj
			fresh := &ast.Ident{NamePos: id.NamePos, Name: id.Name}
			c.info.Defs[fresh] = obj
			vars.Specs = append(vars.Specs, &ast.ValueSpec{Names: []*ast.Ident{fresh}})
		}
	}
	if len(vars.Specs) > 0 {
		c.file.Decls = append(c.file.Decls, vars)
	}
}

// rangeConstants makes loops over the indices of an array loops to its length:
// Go does not evaluate the array then, which may be behind a nil pointer.
func (c *check) rangeConstants() {
	ast.Inspect(c.file, func(n ast.Node) bool {
		r, ok := n.(*ast.RangeStmt)
		if !ok || r.Value != nil || c.info.Types[r.X].Type == nil || hasCall(r.X) {
			return true
		}
		t := c.info.Types[r.X].Type.Underlying()
		if p, isPointer := t.(*types.Pointer); isPointer {
			t = p.Elem().Underlying()
		}
		if array, ok := t.(*types.Array); ok {
			n := &ast.BasicLit{ValuePos: r.X.Pos(), Kind: token.INT, Value: strconv.FormatInt(array.Len(), 10)}
			c.info.Types[n] = types.TypeAndValue{Type: types.Typ[types.Int], Value: constant.MakeInt64(array.Len())}
			r.X = n
		}
		return true
	})
}

// hasCall reports whether there is a call or a receive in x, whose effects must happen.
func hasCall(x ast.Expr) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}

// endsInError reports whether the last value shown is an error.
func (c *check) endsInError() bool {
	var last ast.Expr
	switch {
	case c.shown != nil:
		last = *c.shown
	case c.syn.listed:
		args := c.syn.stmts[len(c.syn.stmts)-1].(*ast.ExprStmt).X.(*ast.CallExpr).Args
		last = args[len(args)-1]
	default:
		return false
	}
	t := c.info.Types[last].Type
	if tuple, ok := t.(*types.Tuple); ok && tuple.Len() > 0 {
		t = tuple.At(tuple.Len() - 1).Type()
	}
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// isPrinting reports whether the last expression calls a printing function of
// fmt, whose results nobody looks at.
func (c *check) isPrinting() bool {
	if c.shown == nil {
		return false
	}
	call, ok := ast.Unparen(*c.shown).(*ast.CallExpr)
	if !ok {
		return false
	}
	id, _ := ast.Unparen(call.Fun).(*ast.Ident)
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		id = sel.Sel
	}
	f, ok := c.info.Uses[id].(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == "fmt" && strings.Contains(f.Name(), "rint") && !strings.HasPrefix(f.Name(), "Sp")
}
