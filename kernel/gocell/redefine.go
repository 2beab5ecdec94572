package gocell

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"forgekernel/kernel/gocell/eval"
)

// newObjects lists what the cell declares at its top level, by name.
func (c *check) newObjects() map[string]types.Object {
	list := map[string]types.Object{}
	for name := range c.declared {
		if obj := c.pkg.Scope().Lookup(name); obj != nil {
			list[name] = obj
		}
	}
	for name := range c.hoisted {
		if obj := c.pkg.Scope().Lookup(name); obj != nil {
			list[name] = obj
		}
	}
	for _, st := range c.syn.stmts {
		if def := definition(st); def != nil {
			for _, l := range def.Lhs {
				if id, ok := l.(*ast.Ident); ok && c.info.Defs[id] != nil && id.Name != "_" {
					list[id.Name] = c.info.Defs[id]
				}
			}
		}
	}
	return list
}

// changed lists the names whose new meaning does not fit code that was checked
// against the old one.
func (c *check) changed() map[string]bool {
	list := map[string]bool{}
	for name, obj := range c.newObjects() {
		old := c.s.scope.symbols[name]
		if old != nil && old.kind != "import" && !sameMeaning(old, obj) {
			list[name] = true
		}
	}
	for name, path := range c.imported {
		if old := c.s.scope.symbols[name]; old != nil && old.path != path {
			list[name] = true
		}
	}
	for _, m := range c.methods {
		if m.altered {
			list[m.recv] = true
			list[m.recv+"."+m.name] = true
		}
	}
	return list
}

// sameMeaning reports whether code that uses old can use obj in its place.
func sameMeaning(old *symbol, obj types.Object) bool {
	if kindOf(obj) != old.kind || old.unit != nil || isGenericObject(obj) {
		return false
	}
	switch obj := obj.(type) {
	case *types.TypeName:
		return false
	case *types.Const:
		was := old.obj.(*types.Const)
		return types.Identical(was.Type(), obj.Type()) && constant.Compare(was.Val(), token.EQL, obj.Val())
	}
	return types.Identical(old.obj.Type(), obj.Type())
}

func kindOf(obj types.Object) string {
	switch obj.(type) {
	case *types.Var:
		return "var"
	case *types.Const:
		return "const"
	case *types.TypeName:
		return "type"
	}
	return "func"
}

// isGenericObject reports whether obj is a generic function or type.
func isGenericObject(obj types.Object) bool {
	switch obj := obj.(type) {
	case *types.Func:
		return obj.Signature().TypeParams().Len() > 0
	case *types.TypeName:
		switch t := obj.Type().(type) {
		case *types.Named:
			return t.TypeParams().Len() > 0
		case *types.Alias:
			return t.TypeParams().Len() > 0
		}
	}
	return false
}

// pullDependents takes the earlier declarations that use any of the names
// along. It reports whether there are more of them than before.
func (c *check) pullDependents(changed map[string]bool) (more bool) {
	if len(changed) == 0 {
		return false
	}
	for _, d := range c.s.scope.dependents(changed, c.redeclares) {
		known := slices.ContainsFunc(c.pulled, func(p *pulled) bool { return p.decl == d }) ||
			slices.ContainsFunc(c.broken, func(b brokenDecl) bool { return b.decl == d })
		if !known {
			c.pull(d)
			more = true
		}
	}
	return more
}

// settle checks the cell together with what it pulled. Declarations that no
// longer fit are left out, and said so.
func (c *check) settle() []fault {
	for {
		faults := c.once()
		if len(faults) == 0 {
			return nil
		}
		broken := map[*eval.Source][]fault{}
		own := false
		for _, f := range faults {
			own = own || f.src == nil || f.src == c.src
			broken[f.src] = append(broken[f.src], f)
		}
		if dropped := c.dropBroken(broken); !dropped {
			if own {
				return faults
			}
			return nil
		}
	}
}

func (c *check) pull(d *declaration) {
	syn := c.lib.parseDeclarations(d.source, []span{d.piece})
	if d.recv != "" && !c.declared[d.recv] { // else it is a method of the new type
		for i, x := range syn {
			if f, ok := x.(*ast.FuncDecl); ok {
				syn[i] = asFunction(f, d.recv, c.receiverParams(d.recv, f))
			}
		}
	}
	c.pulled = append(c.pulled, &pulled{d, syn})
}

// dropBroken leaves out the declarations in which faults lie.
func (c *check) dropBroken(broken map[*eval.Source][]fault) (dropped bool) {
	var rest []*pulled
	for _, p := range c.pulled {
		var mine []fault
		for _, f := range broken[p.decl.source] {
			if f.at >= p.decl.piece.from && f.at <= p.decl.piece.to {
				mine = append(mine, f)
			}
		}
		if len(mine) == 0 || p.decl.source == c.src {
			rest = append(rest, p)
			continue
		}
		dropped = true
		c.broken = append(c.broken, brokenDecl{p.decl, mine[0]})
	}
	c.pulled = rest
	return dropped
}

// brokenDecl is an earlier declaration that no longer compiles, and why.
type brokenDecl struct {
	decl *declaration
	why  fault
}

func (b brokenDecl) reason() string {
	return fmt.Sprintf("%s (%s) no longer compiles: %s", b.decl.title(), b.decl.source.Name, b.why.message)
}

// title is how people call a function or method.
func (d *declaration) title() string {
	if d.recv != "" {
		return d.recv + "." + d.name
	}
	return d.name
}
