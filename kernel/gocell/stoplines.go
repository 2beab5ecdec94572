package gocell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"

	"forgekernel/kernel/gocell/eval"
)

// StopLines lists the lines of a source, counted from line, on which a statement
// begins that a debugger can halt before.
func StopLines(source string, line int) []int {
	lib := newLibrary()
	src := &eval.Source{Line: line, Text: source}
	syn, _ := lib.parseCell(src)
	found := map[int]bool{}
	add := func(n ast.Node) {
		if _, at, ok := lib.position(n.Pos()); ok {
			l, _ := position(src, at)
			found[l] = true
		}
	}
	for _, d := range syn.decls {
		eachStop(d, add)
	}
	for _, st := range syn.stmts {
		eachStop(st, add)
	}
	return slices.Sorted(maps.Keys(found))
}

// FileStopLines is StopLines for the functions of a file of a module.
func FileStopLines(text string) []int {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	found := map[int]bool{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		eachStop(f, func(n ast.Node) { found[fset.PositionFor(n.Pos(), false).Line] = true })
	}
	return slices.Sorted(maps.Keys(found))
}

// eachStop calls f for the statements and the variables of a declaration that leave
// something to halt before.
func eachStop(n ast.Node, f func(ast.Node)) {
	var comm ast.Stmt // part of the select that is being visited
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			if n.Tok != token.VAR {
				return false
			}
		case *ast.CommClause:
			comm = n.Comm
		}
		if n != comm && halts(n) {
			f(n)
		}
		return true
	})
}

// halts reports whether a statement leaves something to halt before.
func halts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.ReturnStmt,
		*ast.SelectStmt, *ast.TypeSwitchStmt:
		return true
	case *ast.IfStmt:
		return n.Init != nil || isComputed(n.Cond)
	case *ast.AssignStmt:
		return slices.ContainsFunc(n.Lhs, isNamed) || slices.ContainsFunc(n.Rhs, isComputed)
	case *ast.ValueSpec:
		return slices.ContainsFunc(n.Names, func(id *ast.Ident) bool { return isNamed(id) }) || slices.ContainsFunc(n.Values, isComputed)
	case *ast.RangeStmt:
		return n.Key != nil || isComputed(n.X)
	case *ast.ForStmt:
		return n.Init != nil || n.Cond != nil && isComputed(n.Cond)
	case *ast.SwitchStmt:
		return n.Init != nil || n.Tag != nil || slices.ContainsFunc(n.Body.List, compares)
	}
	return false
}

// compares reports whether a case of a switch has something to compute.
func compares(c ast.Stmt) bool { return slices.ContainsFunc(c.(*ast.CaseClause).List, isComputed) }

func isNamed(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return !ok || id.Name != "_"
}

func isComputed(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		return false
	case *ast.Ident:
		return x.Name != "true" && x.Name != "false"
	}
	return true
}
