package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"forgekernel/kernel/gocell/hostpkg"
	"forgekernel/kernel/gocell/peek"
	"forgekernel/kernel/gocell/rtype"
)

// Inspect describes the name at a byte offset of a cell's source, or the function
// in whose call the offset is, if it touches no known name. From detail 1 on the
// description has the source of the session's own symbols.
func (s *Session) Inspect(src string, offset, detail int) (Inspection, bool) {
	src, from := around(src, min(max(offset, 0), len(src)))
	offset -= from
	s.mu.Lock()
	defer s.mu.Unlock()
	called, isCall := s.inspectCallee(src, offset, detail)
	if from, to := word(src, offset); from < to {
		if i, found := s.inspectName(src, from, to, detail); found {
			i.Call = called.Signature
			return i, true
		}
	}
	return called, isCall
}

// inspectCallee describes the function in whose call an offset is. What follows the
// offset may be half a call, and is left out when nothing is known with it.
func (s *Session) inspectCallee(src string, offset, detail int) (Inspection, bool) {
	offset = min(max(offset, 0), len(src))
	from, found := openCall(src[:offset])
	if !found {
		return Inspection{}, false
	}
	for _, text := range []string{src, src[:offset]} {
		from, to := word(text, from)
		if i, found := s.inspectName(text, from, to, detail); found {
			return i, true
		}
	}
	return Inspection{}, false
}

// openCall finds the name before the innermost parenthesis that a text leaves open
// and that is one of a call.
func openCall(text string) (from int, found bool) {
	list, _ := scan(text)
	for _, i := range slices.Backward(opened(list)) {
		if list[i].tok != token.LPAREN || i == 0 {
			continue
		}
		name := i - 1
		if list[name].tok == token.RBRACK { // type arguments
			name = opening(list, name) - 1
		}
		if name >= 0 && list[name].tok == token.IDENT && (name == 0 || list[name-1].tok != token.FUNC) {
			return list[name].from, true
		}
	}
	return 0, false
}

// opening is the index of the bracket that the one at an index closes, or 0.
func opening(list []lexeme, closing int) int {
	depth := 0
	for i := closing; i > 0; i-- {
		switch list[i].tok {
		case token.RBRACK:
			depth++
		case token.LBRACK:
			depth--
		}
		if depth == 0 {
			return i
		}
	}
	return 0
}

// inspectName describes the name that stands at some bytes of a source. The caller
// holds the lock.
func (s *Session) inspectName(src string, from, to, detail int) (Inspection, bool) {
	if i, ok := inspectLanguage(src[from:to]); ok && token.IsKeyword(src[from:to]) {
		return i, true
	}
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
	if path, ok := knownPackage(name); ok && !c.insideText(from) {
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
			return rtype.NamedOf(recv.Type())
		}
	}
	t := sel.Recv()
	for _, i := range sel.Index()[:len(sel.Index())-1] {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		t = t.Underlying().(*types.Struct).Field(i).Type()
	}
	return rtype.NamedOf(t)
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
	if obj.Parent() == types.Universe {
		if i, ok := inspectLanguage(obj.Name()); ok {
			return i
		}
	}
	i := Inspection{Signature: types.ObjectString(obj, qualify), Methods: methodsOf(obj)}
	if k, ok := obj.(*types.Const); ok {
		i.Signature += " = " + k.Val().String()
	}
	if pkg := obj.Pkg(); pkg != nil && pkg.Path() != "main" {
		i.Defined = pkg.Path()
		i.Doc, _ = hostpkg.Doc(pkg.Path(), obj.Name())
		return i
	}
	sym := c.symbolOf(obj)
	if sym == nil {
		i.Doc = c.ownComment(obj)
		return i
	}
	i.Defined, i.Doc, i.Value = sym.cell, sym.doc, c.s.valueOf(sym)
	if sym.decl != nil {
		keyword := ""
		if sym.kind == "type" {
			keyword = "type " // which may stand before a group
		}
		i.addSource(sym.decl, keyword, detail)
	}
	return i
}

// symbolOf is what the session holds under the name of an object. A cell that has
// run declares what is held.
func (c *check) symbolOf(obj types.Object) *symbol {
	if sym := c.outside[obj]; sym != nil {
		return sym
	}
	sym := c.s.scope.symbols[obj.Name()]
	top := obj.Parent() == c.pkg.Scope() || obj.Parent() == c.info.Scopes[c.main.Type]
	switch {
	case sym == nil || sym.obj == obj:
		return sym
	case !top || sym.kind != kindOf(obj):
		return nil
	case sym.obj != nil && types.TypeString(sym.obj.Type(), qualify) != types.TypeString(obj.Type(), qualify):
		return nil
	}
	return sym
}

// ownComment is the comment above the line on which the cell declares an object.
func (c *check) ownComment(obj types.Object) string {
	src, at, ok := c.lib.position(obj.Pos())
	if !ok || src != c.src {
		return ""
	}
	return commentBefore(src.Text, strings.LastIndexByte(src.Text[:at], '\n')+1)
}

// valueOf is a variable's value in short; nothing while code runs that may change it
// and cannot be held. No method runs for it.
func (s *Session) valueOf(sym *symbol) (text string) {
	if sym.variable == nil {
		return ""
	}
	s.debug.TryHold(func() {
		if v := sym.variable.Value(); v.IsValid() {
			text = peek.Text(v, true)
		}
	})
	return text
}

// methodsOf are the exported methods of a type, or of what a variable holds.
func methodsOf(obj types.Object) []string {
	switch obj.(type) {
	case *types.Var, *types.TypeName:
	default:
		return nil
	}
	t := obj.Type()
	if _, isInterface := t.Underlying().(*types.Interface); !isInterface {
		if named := rtype.NamedOf(t); named != nil {
			t = types.NewPointer(named)
		}
	}
	var list []string
	for sel := range types.NewMethodSet(t).Methods() {
		if sel.Obj().Exported() {
			list = append(list, sel.Obj().Name()+strings.TrimPrefix(types.TypeString(sel.Type(), qualify), "func"))
		}
	}
	return list
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
