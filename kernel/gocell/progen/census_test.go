package progen

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// census finds the constructs of one program, outside of the declarations that
// belong to all programs.
type census struct {
	info   *types.Info
	file   *ast.File
	prefix string
	found  map[string]bool
	path   []ast.Node // from the declaration to the node in question
}

func (c *census) constructs() map[string]bool {
	c.found = map[string]bool{}
	for _, d := range c.file.Decls {
		if !c.own(d) {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if n == nil {
				c.path = c.path[:len(c.path)-1]
				return true
			}
			for name, holds := range rules {
				if !c.found[name] && holds(c, n) {
					c.found[name] = true
				}
			}
			c.path = append(c.path, n)
			return true
		})
	}
	return c.found
}

// own reports whether a declaration is not Support's.
func (c *census) own(d ast.Decl) bool {
	own := false
	ast.Inspect(d, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		own = own || ok && strings.HasPrefix(id.Name, c.prefix)
		return !own
	})
	f, ok := d.(*ast.FuncDecl)
	return own || ok && f.Name.Name == "init"
}

func (c *census) under(e ast.Expr) types.Type {
	if t := c.info.TypeOf(e); t != nil {
		return t.Underlying()
	}
	return types.Typ[types.Invalid]
}

// within reports whether there is a node of a kind around the present one.
func within[T ast.Node](c *census) bool {
	for _, n := range c.path {
		if _, ok := n.(T); ok {
			return true
		}
	}
	return false
}

// parent is the node around the present one.
func parent[T ast.Node](c *census) (n T) {
	if len(c.path) > 0 {
		n, _ = c.path[len(c.path)-1].(T)
	}
	return n
}

func is[T types.Type](t types.Type) bool { _, ok := t.(T); return ok }

// rules name the constructs by the specification's words.
var rules = map[string]func(*census, ast.Node) bool{}

func init() {
	for _, list := range []map[string]func(*census, ast.Node) bool{typeRules, expressionRules, statementRules} {
		for name, rule := range list {
			rules[name] = rule
		}
	}
}

var typeRules = map[string]func(*census, ast.Node) bool{
	"iota":                         ident("iota"),
	"type alias":                   spec(func(s *ast.TypeSpec) bool { return s.Assign.IsValid() && s.TypeParams == nil }),
	"generic alias":                spec(func(s *ast.TypeSpec) bool { return s.Assign.IsValid() && s.TypeParams != nil }),
	"generic type":                 spec(func(s *ast.TypeSpec) bool { return !s.Assign.IsValid() && s.TypeParams != nil }),
	"local type":                   func(c *census, n ast.Node) bool { _, ok := n.(*ast.TypeSpec); return ok && within[*ast.FuncDecl](c) },
	"several type parameters":      spec(func(s *ast.TypeSpec) bool { return s.TypeParams.NumFields() > 1 }),
	"generic function":             declaring(func(f *ast.FuncDecl) bool { return f.Type.TypeParams != nil }),
	"method of a generic type":     declaring(func(f *ast.FuncDecl) bool { return f.Recv != nil && isGenericMethod(f) }),
	"pointer receiver":             declaring(func(f *ast.FuncDecl) bool { return f.Recv != nil && isStar(f.Recv.List[0].Type) }),
	"value receiver":               declaring(func(f *ast.FuncDecl) bool { return f.Recv != nil && !isStar(f.Recv.List[0].Type) }),
	"init function":                declaring(func(f *ast.FuncDecl) bool { return f.Name.Name == "init" }),
	"named results":                declaring(func(f *ast.FuncDecl) bool { r := f.Type.Results; return r != nil && r.List[0].Names != nil }),
	"variadic function":            declaring(func(f *ast.FuncDecl) bool { return isVariadic(f.Type) }),
	"constraint with methods":      constraint(func(i *types.Interface) bool { return i.NumMethods() > 0 }),
	"constraint with types":        constraint(func(i *types.Interface) bool { return !i.IsMethodSet() }),
	"constraint with both":         constraint(func(i *types.Interface) bool { return !i.IsMethodSet() && i.NumMethods() > 0 }),
	"self-referential constraint":  spec(func(s *ast.TypeSpec) bool { return s.TypeParams != nil && refersToItself(s) }),
	"embedded struct":              embedded(func(t types.Type) bool { return is[*types.Struct](t.Underlying()) }),
	"embedded pointer":             embedded(func(t types.Type) bool { return is[*types.Pointer](t) }),
	"embedded interface":           embedded(func(t types.Type) bool { return types.IsInterface(t) }),
	"interface in an interface":    func(c *census, n ast.Node) bool { i, ok := n.(*ast.InterfaceType); return ok && embeds(i) },
	"blank field":                  func(c *census, n ast.Node) bool { f, ok := n.(*ast.Field); return ok && blank(c, f) },
	"field tag":                    func(c *census, n ast.Node) bool { f, ok := n.(*ast.Field); return ok && f.Tag != nil },
	"map with struct keys":         mapKey(func(t types.Type) bool { return is[*types.Struct](t) }),
	"map with array keys":          mapKey(func(t types.Type) bool { return is[*types.Array](t) }),
	"map with interface keys":      mapKey(func(t types.Type) bool { return types.IsInterface(t) }),
	"map with floating-point keys": mapKey(func(t types.Type) bool { b, ok := t.(*types.Basic); return ok && b.Info()&types.IsFloat != 0 }),
	"channel of one direction": func(c *census, n ast.Node) bool {
		ch, ok := n.(*ast.ChanType)
		return ok && ch.Dir != ast.SEND|ast.RECV
	},
	"channel of channels": func(c *census, n ast.Node) bool {
		ch, ok := n.(*ast.ChanType)
		return ok && is[*types.Chan](c.under(ch.Value))
	},
	"array of counted length": func(c *census, n ast.Node) bool {
		a, ok := n.(*ast.ArrayType)
		if !ok {
			return false
		}
		_, counted := a.Len.(*ast.Ellipsis)
		return counted
	},
	"variables declared in a wrong order": func(c *census, n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || within[*ast.FuncDecl](c) {
			return false
		}
		v, ok := c.info.Uses[id].(*types.Var)
		return ok && !v.IsField() && v.Pos() > id.Pos()
	},
}

func ident(name string) func(*census, ast.Node) bool {
	return func(_ *census, n ast.Node) bool { id, ok := n.(*ast.Ident); return ok && id.Name == name }
}

func spec(holds func(*ast.TypeSpec) bool) func(*census, ast.Node) bool {
	return func(_ *census, n ast.Node) bool { s, ok := n.(*ast.TypeSpec); return ok && holds(s) }
}

func declaring(holds func(*ast.FuncDecl) bool) func(*census, ast.Node) bool {
	return func(_ *census, n ast.Node) bool { f, ok := n.(*ast.FuncDecl); return ok && holds(f) }
}

func constraint(holds func(*types.Interface) bool) func(*census, ast.Node) bool {
	return func(c *census, n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || c.info.Defs[id] == nil {
			return false
		}
		p, ok := c.info.Defs[id].Type().(*types.TypeParam)
		return ok && holds(p.Constraint().Underlying().(*types.Interface))
	}
}

func embedded(holds func(types.Type) bool) func(*census, ast.Node) bool {
	return func(c *census, n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		if !ok {
			return false
		}
		for _, f := range s.Fields.List {
			if len(f.Names) == 0 && holds(c.info.TypeOf(f.Type)) {
				return true
			}
		}
		return false
	}
}

func mapKey(holds func(types.Type) bool) func(*census, ast.Node) bool {
	return func(c *census, n ast.Node) bool { m, ok := n.(*ast.MapType); return ok && holds(c.under(m.Key)) }
}

func embeds(i *ast.InterfaceType) bool {
	for _, f := range i.Methods.List {
		_, plain := f.Type.(*ast.Ident)
		if _, qualified := f.Type.(*ast.SelectorExpr); len(f.Names) == 0 && (plain || qualified) {
			return true
		}
	}
	return false
}

func blank(c *census, f *ast.Field) bool {
	return len(f.Names) == 1 && f.Names[0].Name == "_" && within[*ast.StructType](c)
}

func isStar(e ast.Expr) bool { _, ok := e.(*ast.StarExpr); return ok }

func isVariadic(f *ast.FuncType) bool {
	last := len(f.Params.List) - 1
	if last < 0 {
		return false
	}
	_, ok := f.Params.List[last].Type.(*ast.Ellipsis)
	return ok
}

func refersToItself(s *ast.TypeSpec) (found bool) {
	ast.Inspect(s.TypeParams, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == s.Name.Name
		return true
	})
	return found
}

func isBreakTo(n ast.Node, tok token.Token, labelled bool) bool {
	b, ok := n.(*ast.BranchStmt)
	return ok && b.Tok == tok && (b.Label != nil) == labelled
}
