package gocell

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// maxTexts bounds the bytes of the strings that the checker puts together in one cell
// or package: a few constants that each hold the one before twice are more than any
// memory.
const maxTexts = 1 << 26

// texts counts the bytes of constant strings.
type texts struct {
	values   map[string][]ast.Expr // of constants, by name, those of functions too
	declared declared
	known    map[string]int
}

// tooLong finds the constant with which the strings become too long.
func tooLong(nodes []ast.Node, declared declared) (at ast.Node, message string) {
	t := texts{map[string][]ast.Expr{}, declared, map[string]int{}}
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if g, ok := n.(*ast.GenDecl); ok && g.Tok == token.CONST {
				t.declare(g)
			}
			return true
		})
	}
	total := 0
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if at != nil {
				return false
			}
			before := total
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.ADD {
					total += t.of(n)
				}
			case *ast.ValueSpec:
				for _, id := range n.Names {
					if len(t.values[id.Name]) > 0 {
						total += t.ofName(id.Name)
					}
				}
			}
			if total > maxTexts {
				at, message = n, "the constant strings become too long here"
			}
			return total == before // what has been counted is not looked into
		})
	}
	return at, message
}

// declare notes the values of constants, of which those without one repeat the last.
func (t *texts) declare(g *ast.GenDecl) {
	var last []ast.Expr
	for _, spec := range g.Specs {
		spec := spec.(*ast.ValueSpec)
		if len(spec.Values) > 0 {
			last = spec.Values
		}
		for i, id := range spec.Names {
			if i < len(last) {
				t.values[id.Name] = append(t.values[id.Name], last[i])
			}
		}
	}
}

// of counts the bytes of a constant string; what is none counts nothing.
func (t *texts) of(x ast.Expr) int {
	n := 0
	switch x := x.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			n = len(x.Value)
		}
	case *ast.Ident:
		if len(t.values[x.Name]) > 0 {
			return t.ofName(x.Name)
		}
		n = t.ofDeclared(x)
	case *ast.SelectorExpr:
		n = t.ofDeclared(x)
	case *ast.ParenExpr:
		n = t.of(x.X)
	case *ast.BinaryExpr:
		if x.Op == token.ADD {
			n = t.of(x.X) + t.of(x.Y)
		}
	case *ast.CallExpr:
		if len(x.Args) == 1 { // a conversion
			n = t.of(x.Args[0])
		}
	}
	return min(n, maxTexts+1)
}

func (t *texts) ofName(name string) int {
	if n, ok := t.known[name]; ok {
		return n
	}
	t.known[name] = 0 // one that needs itself is for the checker to refuse
	most := 0
	for _, x := range t.values[name] {
		most = max(most, t.of(x))
	}
	t.known[name] = most
	return most
}

func (t *texts) ofDeclared(x ast.Expr) int {
	c, ok := t.declared(x).(*types.Const)
	if !ok || c.Val().Kind() != constant.String {
		return 0
	}
	return len(constant.StringVal(c.Val()))
}
