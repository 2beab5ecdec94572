package gocell

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// Declarations of variables run in their place between the statements, see
// sequence. What comes before one would use the variable without its value.

// group is a declaration of variables, and all that follow without a statement
// between: they are initialised together, in the order that Go gives them.
type group struct {
	from  int // where it begins
	decls []*ast.GenDecl
}

// earlyDeclarations reports variables that are used before their declaration:
// by a statement, but for the functions it makes, or by the initial value of one
// of an earlier group, also through functions, as Go counts it.
func (c *check) earlyDeclarations() []fault {
	groups := c.groups()
	if len(groups) == 0 || len(c.errs) > 0 {
		return nil
	}
	starts := map[types.Object]int{} // of all variables
	begins := map[types.Object]int{} // of those that the session has not
	for _, g := range groups {
		for id := range g.names() {
			starts[c.info.Defs[id]] = g.from
			old := c.s.scope.symbols[id.Name] // which has a value
			if obj := c.info.Defs[id]; obj != nil && (old == nil || old.kind != "var") {
				begins[obj] = g.from
			}
		}
	}
	var faults []fault
	for _, st := range c.syn.stmts {
		at := c.lib.span(st).from
		c.eachUse(st, func(id *ast.Ident) {
			if from, ok := begins[c.info.Uses[id]]; ok && from > at {
				faults = append(faults, fault{at: c.lib.span(id).from, message: id.Name + " is used before this cell declares it",
					hint: "write the declaration of " + id.Name + " above"})
			}
		})
	}
	for _, init := range c.info.InitOrder {
		v := init.Lhs[0]
		from, ok := starts[v]
		if !ok {
			continue
		}
		if late := c.dependsOn(init.Rhs, func(obj types.Object) bool { return begins[obj] > from }); late != nil {
			faults = append(faults, fault{at: c.lib.span(init.Rhs).from,
				message: fmt.Sprintf("%s needs %s, which this cell declares below, after statements", v.Name(), late.Name()),
				hint:    "write the declaration of " + late.Name() + " above"})
		}
	}
	return faults
}

// groups finds the groups of a cell with statements.
func (c *check) groups() []group {
	if len(c.syn.stmts) == 0 {
		return nil
	}
	var list []group
	next := 0 // statement
	for _, d := range c.syn.decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		from, between := c.lib.span(g).from, false
		for next < len(c.syn.stmts) && c.lib.span(c.syn.stmts[next]).from < from {
			next, between = next+1, true
		}
		if between || len(list) == 0 {
			list = append(list, group{from: from})
		}
		last := &list[len(list)-1]
		last.decls = append(last.decls, g)
	}
	return list
}

// names yields the names of the variables.
func (g group) names() func(yield func(*ast.Ident) bool) {
	return func(yield func(*ast.Ident) bool) {
		for _, d := range g.decls {
			for _, s := range d.Specs {
				for _, id := range s.(*ast.ValueSpec).Names {
					if !yield(id) {
						return
					}
				}
			}
		}
	}
}

// eachUse finds the names that a statement uses when it runs, outside of function
// literals.
func (c *check) eachUse(n ast.Node, use func(*ast.Ident)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			use(id)
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
}

// dependsOn finds an object that an initial value refers to, also through the
// cell's functions and methods.
func (c *check) dependsOn(x ast.Node, wanted func(types.Object) bool) (found types.Object) {
	seen := map[types.Object]bool{}
	var visit func(n ast.Node)
	visit = func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || found != nil {
				return found == nil
			}
			obj := c.info.Uses[id]
			if obj == nil || seen[obj] {
				return true
			}
			seen[obj] = true
			if wanted(obj) {
				found = obj
			} else if f := c.bodyOf(obj); f != nil {
				visit(f)
			}
			return true
		})
	}
	visit(x)
	return found
}

// bodyOf is that of a function or method of the cell.
func (c *check) bodyOf(obj types.Object) *ast.BlockStmt {
	if _, ok := obj.(*types.Func); !ok {
		return nil
	}
	for _, d := range c.syn.decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && c.info.Defs[f.Name] == obj {
			return f.Body
		}
	}
	return nil
}
