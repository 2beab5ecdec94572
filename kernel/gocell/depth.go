package gocell

import (
	"go/ast"
	"go/scanner"
)

// The work on what is nested grows with a power of the depth, and nothing stops
// the type checker.
const (
	maxTypeDepth  = 1000
	maxIndexDepth = 100 // of instances of generic types, and of indices
	maxBlockDepth = 500
	maxElseDepth  = 2000   // of else if, each of which is within those before
	maxTermDepth  = 25_000 // of operands in one expression
)

// depth counts what is around a node.
type depth struct{ types, indices, blocks, elses, terms int }

// add enters or leaves the last node of a path.
func (d *depth) add(path []ast.Node, by int) {
	n := path[len(path)-1]
	if len(path) > 1 {
		switch outer := path[len(path)-2].(type) {
		case *ast.IndexExpr:
			if outer.Index == n {
				d.indices += by
			}
		case *ast.IndexListExpr:
			d.indices += by
		case *ast.IfStmt:
			if outer.Else == n {
				d.elses += by
			}
		}
	}
	switch n.(type) {
	case *ast.BlockStmt:
		d.blocks += by
	case *ast.BinaryExpr:
		d.terms += by
	case *ast.ArrayType, *ast.StarExpr, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.StructType, *ast.InterfaceType:
		d.types += by
	}
}

// tooDeep finds a type or block that is nested too deep.
func tooDeep(root ast.Node) (at ast.Node, message string) {
	var d depth
	var path []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			d.add(path, -1)
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		d.add(path, 1)
		switch {
		case at != nil:
		case d.types > maxTypeDepth:
			at, message = n, "types are nested too deep here"
		case d.indices > maxIndexDepth:
			at, message = n, "type arguments or indices are nested too deep here"
		case d.elses > maxElseDepth:
			at, message = n, "a chain of else if is too long here; a switch may be as long as you like"
		case d.blocks > maxBlockDepth:
			at, message = n, "blocks are nested too deep here"
		case d.terms > maxTermDepth:
			at, message = n, "this expression has too many operands"
		}
		return true
	})
	return at, message
}

// checkDepth refuses syntax that is nested too deep, and drops it: nothing else
// shall look at it.
func (l *library) checkDepth(syn *syntax) scanner.ErrorList {
	for _, n := range syn.nodes() {
		if at, message := tooDeep(n); at != nil {
			e := &scanner.Error{Msg: message}
			e.Pos.Offset = l.span(at).from
			*syn = syntax{}
			return scanner.ErrorList{e}
		}
	}
	return nil
}

// nodes are the declarations and statements.
func (s *syntax) nodes() []ast.Node {
	var list []ast.Node
	for _, d := range s.decls {
		list = append(list, d)
	}
	for _, st := range s.stmts {
		list = append(list, st)
	}
	return list
}
