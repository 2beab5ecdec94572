package hostpkg

import (
	"go/parser"
	"go/token"
	"go/types"
	pathpkg "path"
	"reflect"
	"strings"
	"testing"

	"forgekernel/kernel/gocell/hostpkg/table"
)

// TestSymbolsAgree holds the symbols against the export data: every exported
// function, variable and type has one, and it is the same thing.
func TestSymbolsAgree(t *testing.T) {
	s := opened(t)
	for path := range s.packages {
		if Interpreted(path) {
			continue
		}
		p, err := Importer().Import(path)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, name := range p.Scope().Names() {
			obj := p.Scope().Lookup(name)
			v, ok := Symbol(path, name)
			if ok != wanted(obj) {
				t.Errorf("%s.%s has a symbol: %v", path, name, ok)
			}
			if !ok {
				continue
			}
			count++
			if problem := disagreement(obj, v); problem != "" {
				t.Errorf("%s.%s: %s", path, name, problem)
			}
		}
		for _, symbol := range s.tables[path].Symbols {
			if name, arg, ok := strings.Cut(symbol.Name, "["); ok {
				count++
				if problem := badInstance(p.Scope().Lookup(name), strings.TrimSuffix(arg, "]"), symbol.Value); problem != "" {
					t.Errorf("%s.%s: %s", path, symbol.Name, problem)
				}
			}
		}
		if n := len(s.tables[path].Symbols); n != count {
			t.Errorf("%s: %d symbols, of which %d are exported names", path, n, count)
		}
	}
}

// badInstance says what is wrong with an instance of a generic function.
func badInstance(obj types.Object, arg string, value any) string {
	f, ok := obj.(*types.Func)
	basic := types.Universe.Lookup(arg)
	if !ok || basic == nil {
		return "is no instance of a function for a basic type"
	}
	t, err := types.Instantiate(nil, f.Type(), []types.Type{basic.Type()}, true)
	if err != nil {
		return err.Error()
	}
	if got := reflect.TypeOf(value); !same(t, got) {
		return t.String() + " is " + got.String()
	}
	return ""
}

// wanted reports whether an object is exported and has a value at run time.
func wanted(obj types.Object) bool {
	if !obj.Exported() {
		return false
	}
	switch obj := obj.(type) {
	case *types.Func:
		return obj.Signature().TypeParams() == nil
	case *types.Var:
		return true
	case *types.TypeName:
		if i, ok := obj.Type().Underlying().(*types.Interface); ok && !i.IsMethodSet() {
			return false
		}
		if t, ok := obj.Type().(interface{ TypeParams() *types.TypeParamList }); ok {
			return t.TypeParams() == nil
		}
		return true
	}
	return false
}

func disagreement(obj types.Object, v reflect.Value) string {
	t, got := obj.Type(), v.Type()
	if _, ok := obj.(*types.Func); !ok {
		if v.Kind() != reflect.Pointer {
			return "no pointer to it"
		}
		if _, isType := obj.(*types.TypeName); v.IsNil() != isType {
			return "a nil pointer is for types, and for types alone"
		}
		got = got.Elem()
	}
	if !same(t, got) {
		return t.String() + " is " + got.String()
	}
	return ""
}

// same compares a type of go/types with one of reflect by structure, down to
// defined types, which are compared by name.
func same(t types.Type, rt reflect.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		obj := t.Obj()
		if obj.Pkg() == nil {
			return rt == reflect.TypeFor[error]()
		}
		name, _, _ := strings.Cut(rt.Name(), "[") // type arguments
		return name == obj.Name() && strings.TrimPrefix(rt.PkgPath(), "vendor/") == strings.TrimPrefix(obj.Pkg().Path(), "vendor/")
	case *types.Basic:
		return t.Kind() == types.UnsafePointer && rt.Kind() == reflect.UnsafePointer || rt.PkgPath() == "" && rt.Kind().String() == types.Typ[t.Kind()].Name()
	case *types.Pointer:
		return rt.Kind() == reflect.Pointer && same(t.Elem(), rt.Elem())
	case *types.Slice:
		return rt.Kind() == reflect.Slice && same(t.Elem(), rt.Elem())
	case *types.Array:
		return rt.Kind() == reflect.Array && int64(rt.Len()) == t.Len() && same(t.Elem(), rt.Elem())
	case *types.Chan:
		return rt.Kind() == reflect.Chan && same(t.Elem(), rt.Elem())
	case *types.Map:
		return rt.Kind() == reflect.Map && same(t.Key(), rt.Key()) && same(t.Elem(), rt.Elem())
	case *types.Struct:
		return rt.Kind() == reflect.Struct && rt.NumField() == t.NumFields()
	case *types.Interface:
		return rt.Kind() == reflect.Interface && rt.NumMethod() == t.NumMethods()
	case *types.Signature:
		return sameSignature(t, rt)
	}
	return false
}

func sameSignature(t *types.Signature, rt reflect.Type) bool {
	if rt.Kind() != reflect.Func || rt.IsVariadic() != t.Variadic() ||
		rt.NumIn() != t.Params().Len() || rt.NumOut() != t.Results().Len() {
		return false
	}
	for i := range rt.NumIn() {
		if !same(t.Params().At(i).Type(), rt.In(i)) {
			return false
		}
	}
	for i := range rt.NumOut() {
		if !same(t.Results().At(i).Type(), rt.Out(i)) {
			return false
		}
	}
	return true
}

func TestSymbol(t *testing.T) {
	opened(t)
	sprint, ok := Symbol("fmt", "Sprint")
	if !ok {
		t.Fatal("fmt.Sprint is missing")
	}
	if got := sprint.Call([]reflect.Value{reflect.ValueOf(7)})[0].String(); got != "7" {
		t.Errorf("fmt.Sprint(7) = %q", got)
	}
	if v, ok := Symbol("github.com/janpfeifer/gonb/gonbui", "DisplayHTML"); !ok || v.Kind() != reflect.Func {
		t.Errorf("gonbui.DisplayHTML is %v, %v", v, ok)
	}
	if v, ok := Symbol("forgekernel/forge/importer", "Binding"); !ok || v.Type().Elem().Name() != "Binding" {
		t.Errorf("the type that forge.Binding names is %v, %v", v, ok)
	}
	for _, none := range [][2]string{
		{"fmt", "Nothing"}, {"fmt", ""}, {"fmt", "~"}, {"no/such", "X"}, {"slices", "Sort"}, {"cmp", "Ordered"}, {"time", "Second"},
	} {
		if v, ok := Symbol(none[0], none[1]); ok {
			t.Errorf("%s.%s is %v", none[0], none[1], v)
		}
	}
}

func TestSource(t *testing.T) {
	opened(t)
	for _, path := range []string{"cmp", "maps", "slices", "debug/elf", "internal/saferio", "gonum.org/v1/plot/palette/brewer"} {
		files, ok := Source(path)
		if !ok || len(files) == 0 {
			t.Errorf("%s has no source", path)
		}
		for name, text := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly)
			if err != nil || f.Name.Name != pathpkg.Base(path) {
				t.Errorf("%s of %s is no file of it: %v", name, path, err)
			}
		}
	}
	for _, path := range []string{"fmt", "internal/abi"} {
		if _, ok := Source(path); ok {
			t.Errorf("%s has source", path)
		}
	}
}

// TestMixedGenerations refuses tables that do not belong to the archive.
func TestMixedGenerations(t *testing.T) {
	opened(t)
	s := &store{tables: map[string]*table.Package{}}
	if err := s.addTables("another"); err == nil || !strings.Contains(err.Error(), "run make build") {
		t.Errorf("error is %v", err)
	}
}

// BenchmarkSymbol measures finding a name.
func BenchmarkSymbol(b *testing.B) {
	opened(b)
	for b.Loop() {
		if _, ok := Symbol("net/http", "ListenAndServe"); !ok {
			b.Fatal("missing")
		}
	}
}
