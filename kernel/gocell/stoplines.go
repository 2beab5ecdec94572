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
	visit := func(n ast.Node) bool {
		if !halts(n) {
			return true
		}
		if _, at, ok := lib.position(n.Pos()); ok {
			l, _ := position(src, at)
			found[l] = true
		}
		return true
	}
	for _, d := range syn.decls {
		ast.Inspect(d, visit)
		if g, ok := d.(*ast.GenDecl); ok {
			for _, spec := range g.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) > 0 {
					visit(&ast.ExprStmt{X: v.Values[0]})
				}
			}
		}
	}
	for _, st := range syn.stmts {
		ast.Inspect(st, visit)
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
		ast.Inspect(f, func(n ast.Node) bool {
			if halts(n) {
				found[fset.PositionFor(n.Pos(), false).Line] = true
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// halts reports whether a statement leaves something to halt before.
func halts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt, *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.ReturnStmt,
		*ast.IfStmt, *ast.RangeStmt, *ast.SelectStmt, *ast.TypeSwitchStmt:
		return true
	case *ast.DeclStmt:
		g, ok := n.Decl.(*ast.GenDecl)
		if !ok {
			return false
		}
		return slices.ContainsFunc(g.Specs, func(s ast.Spec) bool { _, is := s.(*ast.ValueSpec); return is })
	case *ast.ForStmt:
		return n.Init != nil || n.Cond != nil
	case *ast.SwitchStmt:
		return n.Init != nil || n.Tag != nil
	}
	return false
}
