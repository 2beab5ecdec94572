package progen

import (
	"go/ast"
	"go/token"
	"go/types"
)

var expressionRules = map[string]func(*census, ast.Node) bool{
	"method value":            selection(types.MethodVal, false),
	"method call":             selection(types.MethodVal, true),
	"method expression":       selection(types.MethodExpr, false),
	"promoted field":          promoted(types.FieldVal),
	"promoted method":         promoted(types.MethodVal),
	"keys in an array":        func(c *census, n ast.Node) bool { l, ok := n.(*ast.CompositeLit); return ok && keyed(c, l) },
	"elided type":             func(c *census, n ast.Node) bool { l, ok := n.(*ast.CompositeLit); return ok && l.Type == nil },
	"full slice expression":   func(c *census, n ast.Node) bool { s, ok := n.(*ast.SliceExpr); return ok && s.Slice3 },
	"slice of a string":       func(c *census, n ast.Node) bool { s, ok := n.(*ast.SliceExpr); return ok && isString(c.under(s.X)) },
	"slice of an array":       func(c *census, n ast.Node) bool { s, ok := n.(*ast.SliceExpr); return ok && isArray(c.under(s.X)) },
	"index of a string":       func(c *census, n ast.Node) bool { s, ok := n.(*ast.IndexExpr); return ok && isString(c.under(s.X)) },
	"variadic call of slices": called("", func(c *census, f *ast.CallExpr) bool { return f.Ellipsis.IsValid() }),
	"call of several results": called("", func(c *census, f *ast.CallExpr) bool {
		return len(f.Args) == 1 && is[*types.Tuple](c.info.TypeOf(f.Args[0]))
	}),
	"inferred instance":        instance(false),
	"explicit instance":        instance(true),
	"receive":                  unary(token.ARROW),
	"complement":               unary(token.XOR),
	"address of a literal":     func(c *census, n ast.Node) bool { u, ok := n.(*ast.UnaryExpr); return ok && literal(u) },
	"comparison of structs":    comparison(func(t types.Type) bool { return is[*types.Struct](t) }),
	"comparison of arrays":     comparison(func(t types.Type) bool { return is[*types.Array](t) }),
	"comparison of interfaces": comparison(func(t types.Type) bool { return types.IsInterface(t) }),
	"comparison of pointers":   comparison(func(t types.Type) bool { return is[*types.Pointer](t) }),
	"comparison of channels":   comparison(func(t types.Type) bool { return is[*types.Chan](t) }),
	"comparison of type params": func(c *census, n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		return ok && b.Op == token.EQL && is[*types.TypeParam](c.info.TypeOf(b.X))
	},
	"shift by a signed number":    shift(false),
	"shift by an unsigned number": shift(true),
	"complex division": func(c *census, n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		return ok && b.Op == token.QUO && isComplex(c.under(b))
	},
	"logical operators": func(c *census, n ast.Node) bool { b, ok := n.(*ast.BinaryExpr); return ok && b.Op == token.LAND },
	"conversion to an array": conversion(func(from, to types.Type) bool {
		return is[*types.Slice](from) && isArray(to) && !is[*types.Pointer](to)
	}),
	"conversion to array pointer": conversion(func(from, to types.Type) bool { return is[*types.Slice](from) && is[*types.Pointer](to) }),
	"conversion of structs":       conversion(func(from, to types.Type) bool { return is[*types.Struct](from) && is[*types.Struct](to) }),
	"string from bytes or runes":  conversion(func(from, to types.Type) bool { return is[*types.Slice](from) && isString(to) }),
	"bytes or runes of a string":  conversion(func(from, to types.Type) bool { return isString(from) && is[*types.Slice](to) }),
	"string from a number":        conversion(func(from, to types.Type) bool { return isString(to) && !isString(from) && !is[*types.Slice](from) }),
	"unsafe.Pointer":              func(c *census, n ast.Node) bool { s, ok := n.(*ast.SelectorExpr); return ok && s.Sel.Name == "Pointer" },
	"unsafe.Sizeof":               func(c *census, n ast.Node) bool { s, ok := n.(*ast.SelectorExpr); return ok && s.Sel.Name == "Sizeof" },
	"new of a value":              called("new", func(c *census, f *ast.CallExpr) bool { return c.info.Types[f.Args[0]].IsValue() }),
	"append":                      called("append", nil), "copy": called("copy", nil), "clear": called("clear", nil), "close": called("close", nil),
	"delete": called("delete", nil), "len": called("len", nil), "cap": called("cap", nil), "make": called("make", nil), "min": called("min", nil),
	"max": called("max", nil), "panic": called("panic", nil), "recover": called("recover", nil), "complex": called("complex", nil),
	"real": called("real", nil), "imag": called("imag", nil), "type assertion": func(c *census, n ast.Node) bool { a, ok := n.(*ast.TypeAssertExpr); return ok && a.Type != nil },
	"constant beyond 64 bits": func(c *census, n ast.Node) bool { s, ok := n.(*ast.BinaryExpr); return ok && huge(c, s) },
	"shadowed predeclared name": func(c *census, n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		return ok && c.info.Defs[id] != nil && types.Universe.Lookup(id.Name) != nil
	},
}

var statementRules = map[string]func(*census, ast.Node) bool{
	"labelled break":    func(_ *census, n ast.Node) bool { return isBreakTo(n, token.BREAK, true) },
	"break":             func(_ *census, n ast.Node) bool { return isBreakTo(n, token.BREAK, false) },
	"labelled continue": func(_ *census, n ast.Node) bool { return isBreakTo(n, token.CONTINUE, true) },
	"continue":          func(_ *census, n ast.Node) bool { return isBreakTo(n, token.CONTINUE, false) },
	"continue out of a select": func(c *census, n ast.Node) bool {
		return isBreakTo(n, token.CONTINUE, true) && within[*ast.SelectStmt](c)
	},
	"break out of a loop in a switch": func(c *census, n ast.Node) bool { return isBreakTo(n, token.BREAK, true) && within[*ast.SwitchStmt](c) },
	"goto":                            func(_ *census, n ast.Node) bool { return isBreakTo(n, token.GOTO, true) },
	"fallthrough":                     func(_ *census, n ast.Node) bool { return isBreakTo(n, token.FALLTHROUGH, false) },
	"switch without a tag":            func(_ *census, n ast.Node) bool { s, ok := n.(*ast.SwitchStmt); return ok && s.Tag == nil },
	"switch with an init":             func(_ *census, n ast.Node) bool { s, ok := n.(*ast.SwitchStmt); return ok && s.Init != nil },
	"if with an init":                 func(_ *census, n ast.Node) bool { s, ok := n.(*ast.IfStmt); return ok && s.Init != nil },
	"type switch with several types": func(c *census, n ast.Node) bool {
		s, ok := n.(*ast.CaseClause)
		return ok && inTypeSwitch(c) && len(s.List) > 1
	},
	"type switch with nil": func(c *census, n ast.Node) bool {
		s, ok := n.(*ast.CaseClause)
		return ok && inTypeSwitch(c) && hasNil(s)
	},
	"type switch in generic code": func(c *census, n ast.Node) bool { _, ok := n.(*ast.TypeSwitchStmt); return ok && inGeneric(c) },
	"select with default":         func(_ *census, n ast.Node) bool { s, ok := n.(*ast.CommClause); return ok && s.Comm == nil },
	"select that sends": func(c *census, n ast.Node) bool {
		_, ok := n.(*ast.SendStmt)
		return ok && parent[*ast.CommClause](c) != nil
	},
	"select that receives": func(_ *census, n ast.Node) bool {
		s, ok := n.(*ast.CommClause)
		_, send := commOf(s, ok).(*ast.SendStmt)
		return ok && s.Comm != nil && !send
	},
	"for with three clauses":          func(_ *census, n ast.Node) bool { f, ok := n.(*ast.ForStmt); return ok && f.Post != nil },
	"range over a function":           ranging(func(t types.Type) bool { return is[*types.Signature](t) }),
	"range over an integer":           ranging(func(t types.Type) bool { b, ok := t.(*types.Basic); return ok && b.Info()&types.IsInteger != 0 }),
	"range over a string":             ranging(isString),
	"range over a map":                ranging(func(t types.Type) bool { return is[*types.Map](t) }),
	"range over a channel":            ranging(func(t types.Type) bool { return is[*types.Chan](t) }),
	"range over an array":             ranging(func(t types.Type) bool { return is[*types.Array](t) }),
	"range over an array's pointer":   ranging(func(t types.Type) bool { return is[*types.Pointer](t) }),
	"range that assigns":              func(_ *census, n ast.Node) bool { r, ok := n.(*ast.RangeStmt); return ok && r.Tok == token.ASSIGN },
	"return in range over a function": func(c *census, n ast.Node) bool { _, ok := n.(*ast.ReturnStmt); return ok && inRangeOverFunc(c) },
	"defer in range over a function":  func(c *census, n ast.Node) bool { _, ok := n.(*ast.DeferStmt); return ok && inRangeOverFunc(c) },
	"defer":                           func(_ *census, n ast.Node) bool { _, ok := n.(*ast.DeferStmt); return ok },
	"defer of a built-in": func(c *census, n ast.Node) bool {
		d, ok := n.(*ast.DeferStmt)
		return ok && c.info.Types[d.Call.Fun].IsBuiltin()
	},
	"defer of a method": func(c *census, n ast.Node) bool { d, ok := n.(*ast.DeferStmt); return ok && isMethod(c, d.Call.Fun) },
	"go":                func(_ *census, n ast.Node) bool { _, ok := n.(*ast.GoStmt); return ok },
	"send":              func(_ *census, n ast.Node) bool { _, ok := n.(*ast.SendStmt); return ok },
	"assignment of several": func(_ *census, n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		return ok && len(a.Lhs) > 1 && a.Tok == token.ASSIGN
	},
	"assignment with an operator": func(_ *census, n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		return ok && a.Tok != token.ASSIGN && a.Tok != token.DEFINE
	},
	"operator on a map's element": func(c *census, n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		return ok && a.Tok != token.ASSIGN && a.Tok != token.DEFINE && isMapElement(c, a.Lhs[0])
	},
	"increment": func(_ *census, n ast.Node) bool { _, ok := n.(*ast.IncDecStmt); return ok },
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func isComplex(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsComplex != 0
}

func isArray(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	return is[*types.Array](t)
}

func selection(kind types.SelectionKind, call bool) func(*census, ast.Node) bool {
	return func(c *census, n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || c.info.Selections[s] == nil || c.info.Selections[s].Kind() != kind {
			return false
		}
		p := parent[*ast.CallExpr](c)
		return kind == types.MethodExpr || (p != nil && p.Fun == s) == call
	}
}

func promoted(kind types.SelectionKind) func(*census, ast.Node) bool {
	return func(c *census, n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		return ok && c.info.Selections[s] != nil && c.info.Selections[s].Kind() == kind && len(c.info.Selections[s].Index()) > 1
	}
}

func keyed(c *census, l *ast.CompositeLit) bool {
	if len(l.Elts) == 0 || !is[*types.Array](c.under(l)) {
		return false
	}
	_, ok := l.Elts[0].(*ast.KeyValueExpr)
	return ok
}

// called finds calls, of a built-in function if it has a name.
func called(builtin string, holds func(*census, *ast.CallExpr) bool) func(*census, ast.Node) bool {
	return func(c *census, n ast.Node) bool {
		f, ok := n.(*ast.CallExpr)
		if !ok {
			return false
		}
		if builtin != "" {
			id, ok := f.Fun.(*ast.Ident)
			if !ok || id.Name != builtin || !c.info.Types[id].IsBuiltin() {
				return false
			}
		}
		return holds == nil || holds(c, f)
	}
}

func instance(explicit bool) func(*census, ast.Node) bool {
	return func(c *census, n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || c.info.Instances[id].TypeArgs == nil {
			return false
		}
		one, many := parent[*ast.IndexExpr](c), parent[*ast.IndexListExpr](c)
		return (one != nil || many != nil) == explicit
	}
}

func unary(op token.Token) func(*census, ast.Node) bool {
	return func(_ *census, n ast.Node) bool { u, ok := n.(*ast.UnaryExpr); return ok && u.Op == op }
}

func literal(u *ast.UnaryExpr) bool {
	_, ok := u.X.(*ast.CompositeLit)
	return ok && u.Op == token.AND
}

func comparison(holds func(types.Type) bool) func(*census, ast.Node) bool {
	return func(c *census, n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		return ok && (b.Op == token.EQL || b.Op == token.NEQ) && holds(c.under(b.X))
	}
}

func shift(unsigned bool) func(*census, ast.Node) bool {
	return func(c *census, n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if !ok || b.Op != token.SHL && b.Op != token.SHR || c.info.Types[b.Y].Value != nil {
			return false
		}
		t, ok := c.under(b.Y).(*types.Basic)
		return ok && (t.Info()&types.IsUnsigned != 0) == unsigned
	}
}

func conversion(holds func(from, to types.Type) bool) func(*census, ast.Node) bool {
	return func(c *census, n ast.Node) bool {
		f, ok := n.(*ast.CallExpr)
		return ok && len(f.Args) == 1 && c.info.Types[f.Fun].IsType() && holds(c.under(f.Args[0]), c.under(f.Fun))
	}
}

func huge(c *census, b *ast.BinaryExpr) bool {
	v := c.info.Types[b].Value
	return v != nil && len(v.ExactString()) > 20
}

func inTypeSwitch(c *census) bool {
	return len(c.path) > 1 && func() bool { _, ok := c.path[len(c.path)-2].(*ast.TypeSwitchStmt); return ok }()
}

func hasNil(s *ast.CaseClause) bool {
	for _, e := range s.List {
		if id, ok := e.(*ast.Ident); ok && id.Name == "nil" {
			return true
		}
	}
	return false
}

func inGeneric(c *census) bool {
	f, ok := c.path[0].(*ast.FuncDecl)
	return ok && (f.Type.TypeParams != nil || isGenericMethod(f))
}

func commOf(s *ast.CommClause, ok bool) ast.Stmt {
	if !ok {
		return nil
	}
	return s.Comm
}

func ranging(holds func(types.Type) bool) func(*census, ast.Node) bool {
	return func(c *census, n ast.Node) bool { r, ok := n.(*ast.RangeStmt); return ok && holds(c.under(r.X)) }
}

// inRangeOverFunc reports whether the innermost function of a statement is left from the
// body of such a loop.
func inRangeOverFunc(c *census) (in bool) {
	for _, n := range c.path {
		switch n := n.(type) {
		case *ast.FuncLit:
			in = false
		case *ast.RangeStmt:
			in = in || is[*types.Signature](c.under(n.X))
		}
	}
	return in
}

func isMethod(c *census, e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && c.info.Selections[s] != nil && c.info.Selections[s].Kind() == types.MethodVal
}

func isMapElement(c *census, e ast.Expr) bool {
	i, ok := e.(*ast.IndexExpr)
	return ok && is[*types.Map](c.under(i.X))
}
