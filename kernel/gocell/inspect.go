package gocell

import (
	"go/ast"
	"go/types"
	"strings"

	"forgekernel/kernel/gocell/hostpkg"
)

// Inspect describes the name at a byte offset of a cell's source. From detail 1
// on the description has the source of the session's own symbols.
func (s *Session) Inspect(src string, offset, detail int) (Inspection, bool) {
	from, to := word(src, offset)
	if from == to {
		return Inspection{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.peek(src)
	for _, n := range c.at(from) {
		id, ok := n.(*ast.Ident)
		if !ok || c.lib.span(id).from != from {
			continue
		}
		obj := c.info.ObjectOf(id)
		if sel := c.selection(id); sel != nil {
			return c.describeMember(sel, c.owner(sel), detail), true
		}
		if obj != nil {
			return c.describe(obj, detail), true
		}
	}
	name := src[from:to]
	if path, ok := knownPackage(name); ok {
		doc, _ := hostpkg.Doc(path, "")
		return Inspection{Signature: "package " + name, Doc: doc, Defined: path}, true
	}
	return Inspection{}, false
}

func (c *check) selection(id *ast.Ident) *types.Selection {
	for sel, s := range c.info.Selections {
		if sel.Sel == id {
			return s
		}
	}
	return nil
}

// owner is the named type that declares a selected field or method.
func (c *check) owner(sel *types.Selection) *types.Named {
	if f, ok := sel.Obj().(*types.Func); ok {
		if recv := f.Signature().Recv(); recv != nil {
			return namedOf(recv.Type())
		}
	}
	t := sel.Recv()
	for _, i := range sel.Index()[:len(sel.Index())-1] {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		t = t.Underlying().(*types.Struct).Field(i).Type()
	}
	return namedOf(t)
}

func namedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}

func (c *check) describeMember(sel *types.Selection, owner *types.Named, detail int) Inspection {
	i := Inspection{Signature: types.ObjectString(sel.Obj(), qualify)}
	if owner == nil || owner.Obj().Pkg() == nil {
		return i
	}
	if owner.Obj().Pkg().Path() == "main" {
		if d := c.s.scope.methods[owner.Origin()][sel.Obj().Name()]; d != nil {
			i.Defined = d.source.Name
			i.addSource(d, "", detail)
		}
		return i
	}
	i.Defined = owner.Obj().Pkg().Path()
	i.Doc, _ = hostpkg.Doc(i.Defined, owner.Obj().Name()+"."+sel.Obj().Name())
	return i
}

// describe tells what an object is and where it comes from.
func (c *check) describe(obj types.Object, detail int) Inspection {
	if pkg, ok := obj.(*types.PkgName); ok {
		path := pkg.Imported().Path()
		doc, _ := hostpkg.Doc(path, "")
		return Inspection{Signature: "package " + pkg.Imported().Name(), Doc: doc, Defined: path}
	}
	i := Inspection{Signature: types.ObjectString(obj, qualify)}
	if pkg := obj.Pkg(); pkg != nil && pkg.Path() != "main" {
		i.Defined = pkg.Path()
		i.Doc, _ = hostpkg.Doc(pkg.Path(), obj.Name())
		return i
	}
	sym := c.outside[obj]
	if sym == nil {
		if sym = c.s.scope.symbols[obj.Name()]; sym == nil || c.declared[obj.Name()] || c.defines[obj.Name()] {
			return i
		}
	}
	i.Defined, i.Doc = sym.cell, sym.doc
	if sym.decl != nil {
		keyword := ""
		if sym.kind == "type" {
			keyword = "type " // which may stand before a group
		}
		i.addSource(sym.decl, keyword, detail)
	}
	return i
}

// addSource adds the comment of a declaration and, when asked for, its source.
func (i *Inspection) addSource(d *declaration, keyword string, detail int) {
	if i.Doc == "" {
		i.Doc = commentBefore(d.source.Text, d.piece.from)
	}
	if detail > 0 {
		i.Source = keyword + d.source.Text[d.piece.from:d.piece.to]
	}
}

// commentBefore returns the comment lines directly above an offset.
func commentBefore(text string, at int) string {
	lines := strings.Split(text[:at], "\n")
	lines = lines[:len(lines)-1]
	var doc []string
	for i := len(lines) - 1; i >= 0; i-- {
		line, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "//")
		if !ok {
			break
		}
		doc = append([]string{strings.TrimPrefix(line, " ")}, doc...)
	}
	return strings.Join(doc, "\n")
}
