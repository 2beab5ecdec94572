package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"strings"
)

// A variable that a top-level := defines is checked as the local variable it
// is written as, so that its scope begins where Go says. When a function of
// the same cell uses it, that is not enough: then it is declared at package
// level, with the type of the same right-hand side, and its statement assigns.

// hoisting is a := statement that became an assignment.
type hoisting struct {
	stmt *ast.AssignStmt
	spec *ast.ValueSpec // declares its new variables
}

func (c *check) hoist() []fault {
	used := map[string]bool{}
	for _, d := range c.syn.decls {
		maps.Copy(used, freeNames(d))
	}
	return c.hoistUsed(used)
}

// hoistUsed hoists the definitions of the given names, and those before them
// that they use.
func (c *check) hoistUsed(used map[string]bool) []fault {
	used = maps.Clone(used)
	for again := true; again; {
		again = false
		defined := map[string]bool{}
		for _, st := range c.syn.stmts {
			def := definition(st)
			if def == nil {
				continue
			}
			if c.mustHoist(def, used) {
				again = c.markHoisted(def) || again
				for _, x := range def.Rhs {
					for name := range freeNames(x) {
						if defined[name] && !used[name] {
							used[name], again = true, true
						}
					}
				}
			}
			for _, l := range def.Lhs {
				if id, ok := l.(*ast.Ident); ok {
					defined[id.Name] = true
				}
			}
		}
	}
	var faults []fault
	for _, st := range c.syn.stmts {
		if def := definition(st); def != nil && c.isHoisted(def) {
			faults = append(faults, c.hoistStmt(def)...)
		}
	}
	return faults
}

// hoistChanged hoists the definitions of names that earlier functions use with
// another type. Statements that use the former variable, as in x := f(x), get
// it under another name.
func (c *check) hoistChanged(changed map[string]bool) []fault {
	c.formerly = map[string]*symbol{}
	for _, st := range c.syn.stmts {
		for id := range c.usesOf(st, nil) {
			if sym := c.outside[c.info.Uses[id]]; sym != nil && changed[id.Name] && c.defines[id.Name] && !c.hoisted[id.Name] {
				id.Name += "·formerly"
				c.formerly[id.Name] = sym
			}
		}
	}
	return c.hoistUsed(changed)
}

func (c *check) mustHoist(def *ast.AssignStmt, used map[string]bool) bool {
	for _, l := range def.Lhs {
		if id, ok := l.(*ast.Ident); ok && id.Name != "_" && (used[id.Name] || c.hoisted[id.Name]) {
			return true
		}
	}
	return false
}

func (c *check) isHoisted(def *ast.AssignStmt) bool { return c.mustHoist(def, nil) }

func (c *check) markHoisted(def *ast.AssignStmt) (more bool) {
	for _, l := range def.Lhs {
		if id, ok := l.(*ast.Ident); ok && id.Name != "_" && !c.hoisted[id.Name] {
			c.hoisted[id.Name], more = true, true
		}
	}
	return more
}

// hoistStmt turns one statement into an assignment to package variables.
func (c *check) hoistStmt(def *ast.AssignStmt) []fault {
	spec := &ast.ValueSpec{Values: def.Rhs}
	fresh := false
	for _, l := range def.Lhs {
		name := "_"
		if id, ok := l.(*ast.Ident); ok && !c.declared[id.Name] && !c.hoistedBefore(id.Name) {
			name = id.Name
			fresh = fresh || name != "_"
		}
		spec.Names = append(spec.Names, &ast.Ident{NamePos: l.Pos(), Name: name})
	}
	if !fresh {
		return []fault{{at: c.lib.span(def).from, message: "no new variables on left side of :="}}
	}
	def.Tok = token.ASSIGN
	c.hoists = append(c.hoists, hoisting{def, spec})
	return nil
}

func (c *check) hoistedBefore(name string) bool {
	for _, h := range c.hoists {
		for _, id := range h.spec.Names {
			if id.Name == name {
				return name != "_"
			}
		}
	}
	return false
}

// allowCycles drops complaints about initial values that refer to one another by way
// of a hoisted variable, which gets its value in its place.
func (c *check) allowCycles() {
	var kept []types.Error
	for list := c.errs; len(list) > 0; {
		n := 1
		for n < len(list) && strings.HasPrefix(list[n].Msg, "\t") { // notes: X refers to Y
			n++
		}
		if !strings.HasPrefix(list[0].Msg, "initialization cycle") || !c.refersByHoisted(list[:n]) {
			kept = append(kept, list[:n]...)
		}
		list = list[n:]
	}
	c.errs = kept
}

func (c *check) refersByHoisted(cycle []types.Error) bool {
	for _, e := range cycle {
		who, _, ok := strings.Cut(strings.TrimPrefix(e.Msg, "initialization cycle: "), " refers to ")
		if ok && c.hoisted[strings.TrimSpace(who)] {
			return true
		}
	}
	return false
}

// earlyUses refuses the use of hoisted variables in a statement before the one
// that defines them.
func (c *check) earlyUses() []fault {
	var faults []fault
	for _, h := range c.hoists {
		for i, id := range h.spec.Names {
			obj := c.info.Defs[id]
			if id.Name == "_" || obj == nil {
				continue
			}
			for _, st := range c.syn.stmts {
				for use := range c.usesOf(st, obj) {
					if use.Pos() < h.stmt.End() && use != h.stmt.Lhs[i] {
						faults = append(faults, fault{at: c.lib.span(use).from, message: id.Name + " is used before this cell defines it",
							hint: "a function of this cell uses " + id.Name + " too; define " + id.Name + " first, or split the cell"})
					}
				}
			}
		}
	}
	return faults
}

// usesOf finds the identifiers that stand for an object, or for any if it is nil.
func (c *check) usesOf(n ast.Node, obj types.Object) map[*ast.Ident]bool {
	found := map[*ast.Ident]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && (obj == nil || c.info.Uses[id] == obj) {
			found[id] = true
		}
		return true
	})
	return found
}
