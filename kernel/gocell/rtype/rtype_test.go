package rtype

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"testing"
)

const source = `package main

type (
	Node  struct { next *Node; kids map[string]Node; parent **Node; label Label }
	Label string
	A     struct { b *B; f func(B) []A }
	B     struct { a A; n int }
	Set   struct { m map[string]bool }
	Shape interface { Area() float64; hidden() }
	Rec   []Rec
	Ch    chan Ch
	Pair[K comparable, V any] struct { Key K; Val V }
	Use   struct { p Pair[string, Label]; e error; s Shape }
	Outer struct { Label; *B; Tag int ` + "`json:\"tag\"`" + ` }
)

func (l Label) String() string { return "label " + string(l) }
func (s Set) Len() int { return len(s.m) }
func (s *Set) Add(k string) { s.m[k] = true }
`

func check(t *testing.T) *types.Package {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&types.Config{Importer: importer.Default()}).Check("main", fset, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

func newTable() *Table {
	return &Table{
		Host:   func(string, string) (reflect.Type, bool) { return nil, false },
		Number: func(*types.TypeName) int { return 0 },
		Method: func(_ types.Type, sel *types.Selection) func([]reflect.Value) []reflect.Value {
			return func(args []reflect.Value) []reflect.Value {
				switch sel.Obj().Name() {
				case "String":
					return []reflect.Value{reflect.ValueOf("method of " + args[0].Type().Name())}
				case "Len":
					return []reflect.Value{reflect.ValueOf(41)}
				}
				return nil
			}
		},
	}
}

func of(t *testing.T, table *Table, pkg *types.Package, name string) reflect.Type {
	t.Helper()
	r, err := table.Of(pkg.Scope().Lookup(name).Type())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecursiveTypes(t *testing.T) {
	pkg, table := check(t), newTable()
	node := of(t, table, pkg, "Node")
	if node.String() != "main.Node" || node.Field(0).Type.Elem() != node || node.Field(1).Type.Elem() != node || node.Field(2).Type.Elem().Elem() != node {
		t.Errorf("%v has fields %v", node, reflect.VisibleFields(node))
	}
	a, b := of(t, table, pkg, "A"), of(t, table, pkg, "B")
	if b.Size() != a.Size()+8 || a.Field(0).Type.Elem() != b || b.Field(0).Type != a || a.Field(1).Type.In(0) != b {
		t.Errorf("A is %v of %d bytes, B %v of %d", a, a.Size(), b, b.Size())
	}
	if r := of(t, table, pkg, "Rec"); r.Elem() != r || r.Kind() != reflect.Slice {
		t.Errorf("Rec is %v of %v", r, r.Elem())
	}
	if c := of(t, table, pkg, "Ch"); c.Elem() != c {
		t.Errorf("Ch carries %v", c.Elem())
	}
	m := reflect.MakeMap(node.Field(1).Type)
	m.SetMapIndex(reflect.ValueOf("k"), reflect.Zero(node))
	if m.Len() != 1 {
		t.Error("a map of the type that holds it does not work")
	}
}

func TestNamesAndIdentity(t *testing.T) {
	pkg, table := check(t), newTable()
	use := of(t, table, pkg, "Use")
	if got := use.Field(0).Type.String(); got != "main.Pair[string,main.Label]" {
		t.Errorf("the instance is called %s", got)
	}
	if again := of(t, table, pkg, "Use"); again != use {
		t.Error("a type is made twice")
	}
	if use.Field(1).Type != reflect.TypeFor[error]() {
		t.Errorf("error is %v", use.Field(1).Type)
	}
	if made, ok := table.Made(use); !ok || made != pkg.Scope().Lookup("Use").Type() {
		t.Errorf("Use was made for %v", made)
	}
	outer := of(t, table, pkg, "Outer")
	if f := outer.Field(0); !f.Anonymous || outer.Field(2).Tag.Get("json") != "tag" || !outer.Field(1).Anonymous {
		t.Errorf("Outer has fields %+v", reflect.VisibleFields(outer))
	}
}

func TestMethods(t *testing.T) {
	pkg, table := check(t), newTable()
	label := reflect.New(of(t, table, pkg, "Label")).Elem()
	label.SetString("x")
	if got := fmt.Sprint(label.Interface(), []any{label.Interface()}); got != "method of Label[method of Label]" {
		t.Errorf("fmt prints %s", got)
	}
	set := of(t, table, pkg, "Set") // held in an interface as the map itself
	if set.NumMethod() != 1 || reflect.PointerTo(set).NumMethod() != 2 {
		t.Errorf("Set has %d methods, *Set %d", set.NumMethod(), reflect.PointerTo(set).NumMethod())
	}
	v := reflect.New(set).Elem()
	if n, ok := v.Interface().(interface{ Len() int }); !ok || n.Len() != 41 {
		t.Error("Len cannot be called through an interface")
	}
	if n, ok := v.Addr().Interface().(interface{ Len() int }); !ok || n.Len() != 41 {
		t.Error("Len cannot be called through an interface with a pointer")
	}
	outer := of(t, table, pkg, "Outer")
	if _, ok := outer.MethodByName("String"); !ok {
		t.Error("a promoted method is missing")
	}
}

func TestRenew(t *testing.T) {
	pkg, table := check(t), newTable()
	label, use, set := of(t, table, pkg, "Label"), of(t, table, pkg, "Use"), of(t, table, pkg, "Set")
	table.Renew(pkg.Scope().Lookup("Label").Type().(*types.Named))
	if of(t, table, pkg, "Label") == label || of(t, table, pkg, "Use") == use {
		t.Error("a type that reaches a renewed one is not made anew")
	}
	if of(t, table, pkg, "Set") != set {
		t.Error("a type that has nothing to do with it is made anew")
	}
	if made, ok := table.Made(label); !ok || made.String() != "main.Label" {
		t.Error("an old generation is forgotten")
	}
}

func TestRefusals(t *testing.T) {
	table := newTable()
	huge := types.NewArray(types.Typ[types.Int], 1<<40)
	if r, err := table.Of(huge); err == nil {
		t.Errorf("made %v", r)
	}
	pkg := types.NewPackage("example.com/p", "p")
	obj := types.NewTypeName(token.NoPos, pkg, "T", nil)
	types.NewNamed(obj, types.NewStruct(nil, nil), nil)
	pkg.Scope().Insert(obj)
	if r, err := table.Of(types.NewSlice(obj.Type())); err == nil {
		t.Errorf("made %v of a package that is not there", r)
	}
}
