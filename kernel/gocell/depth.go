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
	maxElseDepth  = 2000 // of else if, each of which is within those before
	maxTypeParts  = 1 << 16
)

// depth counts what is around a node.
type depth struct{ types, indices, blocks, elses int }

// add enters or leaves the last node of a path.
func (d *depth) add(path []ast.Node, by int) {
	n := path[len(path)-1]
	if len(path) > 1 {
		if outer, ok := path[len(path)-2].(*ast.IndexExpr); ok && outer.Index == n {
			d.indices += by
		} else if _, ok := path[len(path)-2].(*ast.IndexListExpr); ok {
			d.indices += by
		} else if outer, ok := path[len(path)-2].(*ast.IfStmt); ok && outer.Else == n {
			d.elses += by
		}
	}
	switch n.(type) {
	case *ast.BlockStmt:
		d.blocks += by
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
		}
		return true
	})
	return at, message
}

// parts counts what types hold by value: structs may hold structs twice, those
// two more, and so on.
type parts struct {
	specs map[string]*ast.TypeSpec
	known map[string]int
}

func (p *parts) of(x ast.Expr) int {
	n := 1
	switch x := x.(type) {
	case *ast.Ident:
		spec := p.specs[x.Name]
		if spec == nil {
			return 1
		}
		if _, ok := p.known[x.Name]; !ok {
			p.known[x.Name] = 1 // a type that holds itself is for the checker to refuse
			p.known[x.Name] = p.of(spec.Type)
		}
		return p.known[x.Name]
	case *ast.ParenExpr:
		return p.of(x.X)
	case *ast.IndexExpr:
		n = p.of(x.X) + p.of(x.Index)
	case *ast.IndexListExpr:
		n = p.of(x.X)
		for _, arg := range x.Indices {
			n += p.of(arg)
		}
	case *ast.ArrayType:
		if x.Len != nil {
			return p.of(x.Elt)
		}
	case *ast.StructType:
		for _, f := range x.Fields.List {
			n += max(1, len(f.Names)) * p.of(f.Type)
		}
	}
	return min(n, maxTypeParts+1)
}

// tooManyParts finds a type declaration that holds too much.
func tooManyParts(decls []ast.Decl) (at ast.Node, message string) {
	p := parts{map[string]*ast.TypeSpec{}, map[string]int{}}
	var names []*ast.Ident
	for _, d := range decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, spec := range g.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					p.specs[t.Name.Name] = t
					names = append(names, t.Name)
				}
			}
		}
	}
	for _, id := range names {
		if p.of(id) > maxTypeParts {
			return id, "type " + id.Name + " has too many parts"
		}
	}
	return nil, ""
}

// nodes lists the declarations and statements.
func (syn *syntax) nodes() []ast.Node {
	var nodes []ast.Node
	for _, d := range syn.decls {
		nodes = append(nodes, d)
	}
	for _, st := range syn.stmts {
		nodes = append(nodes, st)
	}
	return nodes
}

// checkDepth refuses syntax that is nested too deep or declares too large types,
// and drops it: nothing else shall look at it.
func (l *library) checkDepth(syn *syntax) scanner.ErrorList {
	at, message := tooManyParts(syn.decls)
	for _, n := range syn.nodes() {
		if at == nil {
			at, message = tooDeep(n)
		}
	}
	if at == nil {
		return nil
	}
	e := &scanner.Error{Msg: message}
	e.Pos.Offset = l.span(at).from
	*syn = syntax{}
	return scanner.ErrorList{e}
}
