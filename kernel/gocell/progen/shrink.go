package progen

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"slices"
	"strings"
)

// Shrink makes a program smaller for as long as fails holds, by leaving out
// declarations and statements, many at once at first.
func Shrink(source string, fails func(source string) bool) string {
	for smaller := true; smaller; {
		smaller = false
		for list := 0; ; list++ {
			shorter, exists := shrinkList(source, list, fails)
			if !exists {
				break
			}
			smaller = smaller || len(shorter) < len(source)
			source = shorter
		}
	}
	return source
}

// ShrinkCells leaves cells out of a notebook that a program can do without, for
// as long as fails holds.
func ShrinkCells(cells []Cell, fails func([]Cell) bool) []Cell {
	for group := len(cells); group > 0; group-- { // there are fewer groups than cells
		fewer := slices.DeleteFunc(slices.Clone(cells), func(c Cell) bool { return c.Extra == group })
		if len(fewer) < len(cells) && fails(fewer) {
			cells = fewer
		}
	}
	return cells
}

// shrinkList shortens the index-th list of the program.
func shrinkList(source string, index int, fails func(string) bool) (string, bool) {
	_, _, n := without(source, index, 0, 0)
	if n < 0 {
		return source, false
	}
	for width := n; width > 0; width /= 2 {
		for at := 0; at+width <= n; {
			text, ok, _ := without(source, index, at, width)
			if ok && fails(text) {
				source, n = text, n-width
			} else {
				at += max(1, width/2)
			}
		}
	}
	return source, true
}

// without leaves elements out of one of the lists of a program, and returns how
// long the list was; negative when there is no such list.
func without(source string, index, at, width int) (string, bool, int) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, 0)
	if err != nil {
		return "", false, -1
	}
	seen, length := -1, -1
	cut := func(n int) bool {
		seen++
		if seen == index {
			length = n
		}
		return seen == index && width > 0
	}
	if cut(len(file.Decls)) {
		file.Decls = append(file.Decls[:at:at], file.Decls[at+width:]...)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		var list *[]ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = &n.List
		case *ast.CaseClause:
			list = &n.Body
		case *ast.CommClause:
			list = &n.Body
		default:
			return true
		}
		if cut(len(*list)) {
			*list = append((*list)[:at:at], (*list)[at+width:]...)
		}
		return true
	})
	var b strings.Builder
	if err := printer.Fprint(&b, fset, file); err != nil {
		return "", false, length
	}
	return b.String(), true, length
}
