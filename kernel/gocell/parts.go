package gocell

import (
	"fmt"
	"go/ast"
	"go/types"
)

// maxTypeParts bounds what a type holds by value. Structs may hold structs twice,
// those two more, and so on, and the type checker looks at every one of them.
const maxTypeParts = 1 << 16

// parts counts what types hold by value, and interfaces embed.
type parts struct {
	specs    map[string][]*ast.TypeSpec // by name, those of functions too
	declared declared
	known    map[string]int // of specs, by name and parts of type arguments
	types    map[types.Type]map[string]int
}

// declared finds what a name stands for that other cells or packages declare: nil if
// there is none.
type declared func(x ast.Expr) types.Object

// tooMuch finds what would keep the checker for ever, or take all memory.
func tooMuch(nodes []ast.Node, declared declared) (at ast.Node, message string) {
	if at, message = tooManyParts(nodes, declared); at == nil {
		at, message = tooLong(nodes, declared)
	}
	return at, message
}

// tooManyParts finds a type that holds too much.
func tooManyParts(nodes []ast.Node, declared declared) (at ast.Node, message string) {
	p := parts{map[string][]*ast.TypeSpec{}, declared, map[string]int{}, map[types.Type]map[string]int{}}
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				p.specs[spec.Name.Name] = append(p.specs[spec.Name.Name], spec)
			}
			return true
		})
	}
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if at == nil && p.of(n.Type, nil) > maxTypeParts {
					at, message = n.Name, "type "+n.Name.Name+" has too many parts"
				}
			case *ast.StructType:
				if at == nil && p.of(n, nil) > maxTypeParts {
					at, message = n, "this type has too many parts"
				}
			}
			return at == nil
		})
	}
	return at, message
}

// of counts the parts of a type; args are those of the type parameters in scope.
func (p *parts) of(x ast.Expr, args map[string]int) int {
	n := 1
	switch x := x.(type) {
	case *ast.Ident:
		if parts, ok := args[x.Name]; ok {
			return parts
		}
		return p.named(x, nil)
	case *ast.SelectorExpr:
		return p.named(x, nil)
	case *ast.ParenExpr:
		return p.of(x.X, args)
	case *ast.IndexExpr:
		return p.named(x.X, []int{p.of(x.Index, args)})
	case *ast.IndexListExpr:
		var list []int
		for _, arg := range x.Indices {
			list = append(list, p.of(arg, args))
		}
		return p.named(x.X, list)
	case *ast.ArrayType:
		if x.Len != nil {
			return p.of(x.Elt, args)
		}
	case *ast.StructType:
		for _, f := range x.Fields.List {
			n += max(1, len(f.Names)) * p.of(f.Type, args)
		}
	case *ast.InterfaceType:
		for _, f := range x.Methods.List {
			if len(f.Names) == 0 {
				n += p.of(f.Type, args)
			}
		}
	case *ast.BinaryExpr: // a union
		n = p.of(x.X, args) + p.of(x.Y, args)
	}
	return min(n, maxTypeParts+1)
}

// named counts the parts of a type that a name stands for, given those of its
// type arguments.
func (p *parts) named(x ast.Expr, list []int) int {
	id, _ := x.(*ast.Ident)
	if id == nil || p.specs[id.Name] == nil {
		if t, ok := p.declared(x).(*types.TypeName); ok {
			return p.ofType(t.Type(), list)
		}
		return 1
	}
	key := fmt.Sprint(id.Name, list)
	if n, ok := p.known[key]; ok {
		return n
	}
	p.known[key] = 1 // a type that holds itself is for the checker to refuse
	most := 1
	for _, spec := range p.specs[id.Name] {
		args := map[string]int{}
		for _, name := range typeParameters(spec) {
			if args[name] = 1; len(args) <= len(list) {
				args[name] = list[len(args)-1]
			}
		}
		most = max(most, p.of(spec.Type, args))
	}
	p.known[key] = most
	return most
}

func typeParameters(spec *ast.TypeSpec) (names []string) {
	if spec.TypeParams != nil {
		for _, f := range spec.TypeParams.List {
			for _, id := range f.Names {
				names = append(names, id.Name)
			}
		}
	}
	return names
}

// ofType counts the parts of a type that has been checked, given those of the type
// arguments of a generic one.
func (p *parts) ofType(t types.Type, list []int) int {
	t = types.Unalias(t)
	key := fmt.Sprint(list)
	if n, ok := p.types[t][key]; ok {
		return n
	}
	if p.types[t] == nil {
		p.types[t] = map[string]int{}
	}
	p.types[t][key] = 1
	n := 1
	switch t := t.(type) {
	case *types.Named:
		n = p.ofType(t.Underlying(), list)
	case *types.TypeParam:
		if t.Index() < len(list) {
			n = list[t.Index()]
		}
	case *types.Array:
		n = p.ofType(t.Elem(), list)
	case *types.Struct:
		for f := range t.Fields() {
			n += p.ofType(f.Type(), list)
		}
	case *types.Interface:
		for e := range t.EmbeddedTypes() {
			n += p.ofType(e, list)
		}
	case *types.Union:
		for term := range t.Terms() {
			n += p.ofType(term.Type(), list)
		}
	}
	n = min(n, maxTypeParts+1)
	p.types[t][key] = n
	return n
}

// declaredElsewhere finds what earlier cells and packages declare.
func (c *check) declaredElsewhere(x ast.Expr) types.Object {
	switch x := x.(type) {
	case *ast.Ident:
		if sym := c.s.scope.symbols[x.Name]; sym != nil {
			return sym.obj
		}
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok {
			if pkg := c.packageNamed(id.Name); pkg != nil {
				return pkg.Scope().Lookup(x.Sel.Name)
			}
		}
	}
	return nil
}

// packageNamed is the package that a name stands for; nil when there is none.
func (c *check) packageNamed(name string) *types.Package {
	path := c.imported[name]
	if sym := c.s.scope.symbols[name]; path == "" && sym != nil {
		path = sym.path
	}
	if path == "" {
		path, _ = knownPackage(name)
	}
	pkg, err := c.importer().Import(path)
	if err != nil {
		return nil
	}
	return pkg
}
