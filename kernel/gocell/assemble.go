package gocell

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// pulled is a declaration of an earlier cell that is checked again because
// something it uses has changed.
type pulled struct {
	decl   *declaration
	syntax []ast.Decl
}

// assemble makes the file that the checker sees.
func (c *check) assemble() *ast.File {
	file := &ast.File{Name: ast.NewIdent("main")}
	var nodes []ast.Node
	add := func(d ast.Decl) {
		file.Decls = append(file.Decls, d)
		nodes = append(nodes, d)
	}
	for i, f := range c.inits {
		f.Name = &ast.Ident{NamePos: f.Name.NamePos, Name: initName + strconv.Itoa(i)}
	}
	for _, d := range c.syn.decls {
		add(d)
	}
	for _, m := range c.methods {
		add(m.decl)
	}
	for _, p := range c.pulled {
		for _, d := range p.syntax {
			add(d)
		}
	}
	if len(c.hoists) > 0 {
		vars := &ast.GenDecl{Tok: token.VAR}
		for _, h := range c.hoists {
			vars.Specs = append(vars.Specs, h.spec)
		}
		add(vars)
	}
	c.main = &ast.FuncDecl{Name: ast.NewIdent(mainName), Type: &ast.FuncType{Params: &ast.FieldList{}},
		Body: &ast.BlockStmt{List: c.body()}}
	add(c.main)
	file.Decls = append([]ast.Decl{c.fill(nodes...)}, file.Decls...)
	c.file = file
	return file
}

// body returns the statements, the last expression wrapped so that its value
// is displayed.
func (c *check) body() []ast.Stmt {
	list := append([]ast.Stmt(nil), c.syn.stmts...)
	if len(list) == 0 {
		return list
	}
	last, ok := list[len(list)-1].(*ast.ExprStmt)
	if !ok || c.syn.listed {
		return list
	}
	c.shown = &last.X
	if c.bareLast {
		return list
	}
	list[len(list)-1] = &ast.ExprStmt{X: &ast.CallExpr{
		Fun: &ast.Ident{NamePos: last.Pos(), Name: showName}, Args: []ast.Expr{last.X}, Lparen: last.Pos(), Rparen: last.End(),
	}}
	return list
}

// fill makes the packages of the cell, puts the session's objects that the
// nodes mention into scope, and returns the imports that they need.
func (c *check) fill(nodes ...ast.Node) *ast.GenDecl {
	c.pkg, c.outer = types.NewPackage("main", "main"), types.NewPackage("main", "main")
	c.outside = map[types.Object]*symbol{}
	imports := &ast.GenDecl{Tok: token.IMPORT, Lparen: 1, Rparen: 1}
	show := types.NewFunc(token.NoPos, c.outer, showName, types.NewSignatureType(nil, nil, nil,
		types.NewTuple(types.NewParam(token.NoPos, c.outer, "", types.NewSlice(types.Universe.Lookup("any").Type()))), nil, true))
	c.outer.Scope().Insert(show)
	c.pkg.Scope().Insert(show)
	qualifier := qualifiers(nodes...)
	c.shelter(nodes)
	for name := range names(nodes...) {
		if c.declared[name] || c.hoisted[name] || c.isPulled(name) || name == "_" {
			continue
		}
		if path := c.imported[name]; path != "" {
			imports.Specs = append(imports.Specs, importSpec(name, path))
			continue
		}
		sym := c.s.scope.symbols[name]
		if former := c.formerly[name]; former != nil {
			sym = former
		}
		switch {
		case sym != nil && sym.kind == "import":
			imports.Specs = append(imports.Specs, importSpec(name, sym.path))
		case sym != nil:
			if c.unusable(sym) == "" {
				c.insert(name, sym)
			}
		case c.insertDotted(name):
		case qualifier[name]:
			if path, ok := knownPackage(name); ok {
				imports.Specs = append(imports.Specs, importSpec(name, path))
			}
		}
	}
	return imports
}

// shelter puts parentheses around the names that types are declared to be: in
// search of cycles the checker follows bare names, and falls over those that
// the package does not declare itself.
func (c *check) shelter(nodes []ast.Node) {
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if id, ok := spec.Type.(*ast.Ident); ok && !c.declared[id.Name] {
					spec.Type = &ast.ParenExpr{Lparen: id.Pos(), X: id, Rparen: id.End() - 1} // ends where the name does
				}
			}
			return true
		})
	}
}

func importSpec(name, path string) *ast.ImportSpec {
	return &ast.ImportSpec{Name: ast.NewIdent(name), Path: &ast.BasicLit{Kind: token.STRING, Value: fmt.Sprintf("%q", path)}}
}

func (c *check) isPulled(name string) bool {
	for _, p := range c.pulled {
		if p.decl.recv == "" && p.decl.name == name {
			return true
		}
	}
	return false
}

// unusable tells why a generic function cannot be called: what it uses has been
// declared again, and it does not fit that.
func (c *check) unusable(sym *symbol) string {
	if sym.broken != nil {
		return sym.broken.Error()
	}
	for _, b := range c.broken {
		if b.decl == sym.decl && isGenericObject(sym.obj) {
			return b.reason()
		}
	}
	return ""
}

// insert puts a session symbol into scope. Variables, constants and plain
// functions are represented by objects that live no longer than the cell.
func (c *check) insert(name string, sym *symbol) {
	var stand types.Object
	switch obj := sym.obj.(type) {
	case *types.Var:
		stand = types.NewVar(token.NoPos, c.outer, name, obj.Type())
	case *types.Const:
		stand = types.NewConst(token.NoPos, c.outer, name, obj.Type(), obj.Val())
	case *types.Func:
		if obj.Signature().TypeParams().Len() == 0 {
			stand = types.NewFunc(token.NoPos, c.outer, name, obj.Signature())
		}
	}
	if stand == nil {
		c.pkg.Scope().Insert(sym.obj)
		c.outside[sym.obj] = sym
		return
	}
	c.outer.Scope().Insert(stand)
	c.pkg.Scope().Insert(stand)
	c.outside[stand] = sym
}

// nameFields writes the field names into literals of structs that an earlier
// cell declared and whose fields are not exported: to the checker each cell is
// a package of its own. It reports whether there were any.
func (c *check) nameFields() (changed bool) {
	implicit := func(e types.Error) bool {
		return strings.HasPrefix(e.Msg, "implicit assignment to unexported field")
	}
	if !slices.ContainsFunc(c.errs, implicit) {
		return false
	}
	for n, tv := range c.info.Types {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			continue
		}
		t := tv.Type
		if p, isPointer := t.Underlying().(*types.Pointer); isPointer {
			t = p.Elem() // &T left out within a literal
		}
		s, ok := t.Underlying().(*types.Struct)
		if !ok || s.NumFields() != len(lit.Elts) || s.NumFields() == 0 || s.Field(0).Pkg().Path() != "main" {
			continue
		}
		for i, e := range lit.Elts {
			if _, keyed := e.(*ast.KeyValueExpr); !keyed {
				lit.Elts[i] = &ast.KeyValueExpr{Key: &ast.Ident{NamePos: e.Pos(), Name: s.Field(i).Name()}, Colon: e.Pos(), Value: e}
				changed = true
			}
		}
	}
	if !changed { // what is left has another fault as well: the number of values
		c.errs = slices.DeleteFunc(c.errs, func(e types.Error) bool {
			return implicit(e) && strings.Contains(e.Msg, " of type main.")
		})
	}
	return changed
}

// insertDotted puts an object of a dot-imported package into scope.
func (c *check) insertDotted(name string) bool {
	if !ast.IsExported(name) {
		return false
	}
	for _, path := range slices.Backward(slices.Concat(c.s.scope.dots, c.dots)) { // the latest one counts
		pkg, err := c.importer().Import(path)
		if err != nil {
			continue
		}
		if obj := pkg.Scope().Lookup(name); obj != nil {
			c.pkg.Scope().Insert(obj)
			return true
		}
	}
	return false
}
