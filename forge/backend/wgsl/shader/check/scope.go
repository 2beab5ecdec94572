package check

import (
	"slices"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// MaxDepth bounds how deep declarations may depend on one another.
const MaxDepth = 500

// checker is the state of one module's check. Like the parser it leaves by a
// panic with a *syntax.Error.
type checker struct {
	types   types
	module  *Module
	globals map[string]*global
	scope   *scope
	fn      *Func // being checked, or nil
	flow    flow
	f16     bool
	depth   int
	budget  int // words of constants that may still be made
}

// global is a declaration of the module, checked when it is first needed.
type global struct {
	decl     syntax.Stmt
	pos      syntax.Pos
	checking bool
	object   any // *Var, *Func or *Type once checked
}

// scope is one level of the names of a function.
type scope struct {
	outer *scope
	names map[string]*Var
}

func fail(at syntax.Pos, format string, args ...any) { panic(syntax.Errorf(at, format, args...)) }

// Check gives a parsed module its meaning.
func Check(tree *syntax.Module) (m *Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ours := r.(*syntax.Error)
			if !ours {
				panic(r)
			}
			m, err = nil, e
		}
	}()
	c := &checker{types: types{}, module: &Module{}, globals: map[string]*global{}, budget: maxConstantWords}
	c.directives(tree.Directives)
	var names []string
	for _, d := range tree.Decls {
		name, pos := declared(d)
		if name == "" {
			continue
		}
		if _, ok := c.globals[name]; ok {
			fail(pos, "redeclaration of '%s'", name)
		}
		c.globals[name] = &global{decl: d, pos: pos}
		names = append(names, name)
	}
	next := 0
	for _, d := range tree.Decls {
		if a, ok := d.(*syntax.ConstAssert); ok {
			c.constAssert(a)
			continue
		}
		c.global(names[next], c.globals[names[next]].pos)
		next++
	}
	c.order(names)
	c.bindings()
	return c.module, nil
}

// order puts variables and functions into the order of the text: they were
// checked in the order of their need.
func (c *checker) order(names []string) {
	place := map[any]int{}
	for i, name := range names {
		place[c.globals[name].object] = i
	}
	m := c.module
	slices.SortFunc(m.Vars, func(a, b *Var) int { return place[a] - place[b] })
	slices.SortFunc(m.Overrides, func(a, b *Var) int { return place[a] - place[b] })
	slices.SortFunc(m.Funcs, func(a, b *Func) int { return place[a] - place[b] })
}

func declared(d syntax.Stmt) (string, syntax.Pos) {
	switch d := d.(type) {
	case *syntax.VarDecl:
		return d.Name, d.NamePos
	case *syntax.Function:
		return d.Name, d.NamePos
	case *syntax.Struct:
		return d.Name, d.NamePos
	case *syntax.Alias:
		return d.Name, d.NamePos
	}
	return "", syntax.Pos{}
}

// The extensions of the language that this package knows.
var (
	extensions = map[string]bool{"f16": true}
	features   = map[string]bool{
		"readonly_and_readwrite_storage_textures": true, "packed_4x8_integer_dot_product": true,
		"unrestricted_pointer_parameters": true, "pointer_composite_access": true,
	}
)

func (c *checker) directives(list []syntax.Directive) {
	for _, d := range list {
		for _, w := range d.Words {
			switch {
			case d.Keyword == "enable" && !extensions[w.Text]:
				fail(w.Pos, "extension '%s' is not supported", w.Text)
			case d.Keyword == "requires" && !features[w.Text]:
				fail(w.Pos, "language feature '%s' is not supported", w.Text)
			case d.Keyword == "enable":
				c.f16 = true
			}
		}
		if d.Keyword == "diagnostic" {
			c.diagnostic(d)
		}
	}
}

func (c *checker) diagnostic(d syntax.Directive) {
	severity := d.Words[0]
	if len(d.Words) < 2 {
		fail(d.Pos, "a diagnostic directive takes a severity and a rule")
	}
	if !slices.Contains([]string{"error", "warning", "info", "off"}, severity.Text) {
		fail(severity.Pos, "unresolved diagnostic severity '%s'", severity.Text)
	}
}

// global gives a declaration of the module, checking it first if need be.
func (c *checker) global(name string, at syntax.Pos) any {
	g := c.globals[name]
	if g == nil || g.object != nil {
		if g == nil {
			return nil
		}
		return g.object
	}
	if g.checking {
		fail(g.pos, "cyclic dependency found: '%s' needs itself", name)
	}
	if c.depth++; c.depth > MaxDepth {
		fail(at, "declarations depend on one another more than %d deep", MaxDepth)
	}
	g.checking = true
	scope, fn, flow := c.scope, c.fn, c.flow
	c.scope, c.fn = nil, nil
	switch d := g.decl.(type) {
	case *syntax.VarDecl:
		g.object = c.globalVar(d)
	case *syntax.Function:
		g.object = c.function(d)
	case *syntax.Struct:
		g.object = c.structure(d)
	case *syntax.Alias:
		g.object = c.typeOf(d.Type)
	}
	c.scope, c.fn, c.flow = scope, fn, flow
	c.depth--
	return g.object
}

// lookup finds what a name means: a *Var, *Func or *Type, or nil where the
// module declares no such name.
func (c *checker) lookup(name string, at syntax.Pos) any {
	for s := c.scope; s != nil; s = s.outer {
		if v, ok := s.names[name]; ok {
			return v
		}
	}
	return c.global(name, at)
}

func (c *checker) open() { c.scope = &scope{outer: c.scope, names: map[string]*Var{}} }

func (c *checker) close() { c.scope = c.scope.outer }

func (c *checker) declare(v *Var) {
	if _, ok := c.scope.names[v.Name]; ok {
		fail(v.Pos, "redeclaration of '%s'", v.Name)
	}
	c.scope.names[v.Name] = v
}
