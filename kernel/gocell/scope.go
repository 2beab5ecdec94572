package gocell

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"

	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/rtype"
)

// symbol is one name that the session holds.
type symbol struct {
	name string
	kind string // "var", "func", "type", "const" or "import"
	obj  types.Object
	cell string
	doc  string

	variable *eval.Var
	code     *eval.Code
	path     string       // of an import
	decl     *declaration // of a function or type
	unit     *eval.Unit   // that declares it, when it is generic
	broken   error        // why a generic function no longer compiles
}

// declaration is the source of a function, method or type, kept so that it can
// be checked again when something it uses is redefined.
type declaration struct {
	source *eval.Source
	piece  span
	text   string          // of a type: its definition
	uses   map[string]bool // see check.uses
	recv   string          // of a method: the name of its type
	name   string
}

// scope is all that the session knows between cells.
type scope struct {
	symbols map[string]*symbol
	methods map[*types.Named]map[string]*declaration
	dots    []string // paths that are dot-imported
	units   []*eval.Unit
	grown   grown
}

func newScope() *scope {
	return &scope{symbols: map[string]*symbol{}, methods: map[*types.Named]map[string]*declaration{}, grown: grown{}}
}

// named returns the session's declared type of a name.
func (sc *scope) named(name string) *types.Named {
	s := sc.symbols[name]
	if s == nil || s.kind != "type" {
		return nil
	}
	named, _ := s.obj.Type().(*types.Named)
	return named
}

// declarations lists the functions and methods whose source is kept, sorted by
// the order of their names.
func (sc *scope) declarations() []*declaration {
	var list []*declaration
	for _, s := range sc.symbols {
		if s.kind == "func" && s.decl != nil {
			list = append(list, s.decl)
		}
		if named := sc.named(s.name); named != nil {
			for _, d := range sc.methods[named] {
				list = append(list, d)
			}
		}
	}
	slices.SortFunc(list, func(a, b *declaration) int {
		if a.source != b.source {
			return strings.Compare(a.recv+"."+a.name, b.recv+"."+b.name)
		}
		return a.piece.from - b.piece.from
	})
	return list
}

// dependents lists the declarations that use any of the names, directly or
// through one another, except those that the cell declares itself.
func (sc *scope) dependents(changed map[string]bool, own func(*declaration) bool) []*declaration {
	hit := map[string]bool{}
	for name := range changed {
		hit[name] = true
	}
	var found []*declaration
	taken := map[*declaration]bool{}
	for again := true; again; {
		again = false
		for _, d := range sc.declarations() {
			if taken[d] || own(d) || !anyOf(d.uses, hit) {
				continue
			}
			taken[d], again = true, true
			found = append(found, d)
			if d.recv == "" { // its methods keep their signatures
				hit[d.name] = true
			}
		}
	}
	return found
}

func anyOf(uses, names map[string]bool) bool {
	for n := range names {
		if uses[n] {
			return true
		}
	}
	return false
}

// method returns the method that a declaration is of.
func (sc *scope) method(d *declaration) *types.Func {
	named := sc.named(d.recv)
	if named == nil {
		return nil
	}
	for m := range named.Methods() {
		if m.Name() == d.name {
			return m
		}
	}
	return nil
}

// addMethod keeps the source of a method for its type.
func (sc *scope) addMethod(d *declaration) {
	named := sc.named(d.recv)
	if named == nil {
		return
	}
	if sc.methods[named] == nil {
		sc.methods[named] = map[string]*declaration{}
	}
	sc.methods[named][d.name] = d
}

// uses lists what checked nodes use of the session: the names that stand for
// its objects, and its methods as Type.Name.
func (c *check) uses(nodes ...ast.Node) map[string]bool {
	found := map[string]bool{}
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if name := usedName(c.info.Uses[id]); name != "" {
					found[name] = true
				}
			}
			return true
		})
	}
	return found
}

func usedName(obj types.Object) string {
	if obj == nil {
		return ""
	}
	if _, ok := obj.(*types.PkgName); ok {
		return obj.Name()
	}
	if f, ok := obj.(*types.Func); ok && f.Signature().Recv() != nil {
		if named := rtype.NamedOf(f.Signature().Recv().Type()); named != nil {
			return named.Obj().Name() + "." + f.Name()
		}
		return ""
	}
	if obj.Pkg() == nil || obj.Pkg().Path() != "main" || obj.Parent() == nil || obj.Parent().Parent() != types.Universe {
		return ""
	}
	return obj.Name()
}

// names lists the identifiers that occur in nodes.
func names(nodes ...ast.Node) map[string]bool {
	found := map[string]bool{}
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				found[id.Name] = true
			}
			return true
		})
	}
	return found
}

// freeNames is names without those of fields and selectors.
func freeNames(root ast.Node) map[string]bool {
	found := map[string]bool{}
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Type != nil {
				maps.Copy(found, freeNames(n.Type))
			}
			return false
		case *ast.SelectorExpr:
			maps.Copy(found, freeNames(n.X))
			return false
		case *ast.Ident:
			found[n.Name] = true
		}
		return true
	})
	return found
}

// qualifiers lists the identifiers that stand before a dot.
func qualifiers(nodes ...ast.Node) map[string]bool {
	found := map[string]bool{}
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if id, ok := sel.X.(*ast.Ident); ok {
					found[id.Name] = true
				}
			}
			return true
		})
	}
	return found
}
