package hostpkg

import (
	"bytes"
	"go/constant"
	"go/types"
	"reflect"
	"strings"
	"testing"

	"github.com/traefik/yaegi/interp"
)

// TestTablesAgree holds the reflect tables against the export data: every
// exported name is in one of table and Missing, as the same thing.
func TestTablesAgree(t *testing.T) {
	s := opened(t)
	for path := range s.packages {
		p, err := Importer().Import(path)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := Symbols(path)
		if err != nil {
			t.Fatal(err)
		}
		symbols := tables[path+"/"+p.Name()]
		count := 0
		for _, name := range p.Scope().Names() {
			obj := p.Scope().Lookup(name)
			if !obj.Exported() {
				continue
			}
			reason, missing := Missing(path, name)
			v, present := symbols[name]
			if present == missing {
				t.Errorf("%s.%s: present %v, missing %v (%s)", path, name, present, missing, reason)
				continue
			}
			if present {
				count++
				if problem := disagreement(obj, v); problem != "" {
					t.Errorf("%s.%s: %s", path, name, problem)
				}
			}
			if w, ok := symbols["_"+name]; ok {
				count++
				if !w.Type().Elem().Implements(v.Type().Elem()) {
					t.Errorf("%s.%s: its wrapper does not implement it", path, name)
				}
			}
		}
		if count != len(symbols) {
			t.Errorf("%s: %d symbols, of which %d are accounted for", path, len(symbols), count)
		}
	}
}

func disagreement(obj types.Object, v reflect.Value) string {
	switch obj := obj.(type) {
	case *types.TypeName:
		if v.Kind() != reflect.Pointer || !v.IsNil() {
			return "no nil pointer to the type"
		}
		if rt := v.Type().Elem(); !same(obj.Type(), rt) {
			return obj.Type().String() + " is " + rt.String()
		}
	case *types.Var:
		if !v.CanAddr() {
			return "not addressable"
		}
		if !same(obj.Type(), v.Type()) {
			return obj.Type().String() + " is " + v.Type().String()
		}
	case *types.Func:
		if !same(obj.Type(), v.Type()) {
			return obj.Type().String() + " is " + v.Type().String()
		}
	case *types.Const:
		return constantDisagreement(obj, v)
	}
	return ""
}

func constantDisagreement(c *types.Const, v reflect.Value) string {
	got, untyped := v.Interface().(constant.Value)
	if untyped {
		if basic, ok := c.Type().(*types.Basic); !ok || basic.Info()&types.IsUntyped == 0 {
			return "is untyped"
		}
	} else {
		if !same(types.Default(c.Type()), v.Type()) {
			return c.Type().String() + " is " + v.Type().String()
		}
		switch {
		case v.CanInt():
			got = constant.MakeInt64(v.Int())
		case v.CanUint():
			got = constant.MakeUint64(v.Uint())
		case v.CanFloat():
			got = constant.MakeFloat64(v.Float())
		case v.Kind() == reflect.String:
			got = constant.MakeString(v.String())
		case v.Kind() == reflect.Bool:
			got = constant.MakeBool(v.Bool())
		}
	}
	want := c.Val()
	if want.Kind() == constant.Float {
		// Decimal digits stand for a binary fraction: equal as float64.
		a, _ := constant.Float64Val(want)
		b, _ := constant.Float64Val(got)
		want, got = constant.MakeFloat64(a), constant.MakeFloat64(b)
	}
	if want.ExactString() != got.ExactString() {
		return want.ExactString() + " is " + got.ExactString()
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

func TestMissing(t *testing.T) {
	opened(t)
	for _, name := range []string{"Sort", "SortFunc"} {
		if reason, ok := Missing("slices", name); !ok || !strings.HasPrefix(reason, "is generic") {
			t.Errorf("Missing(slices, %s) = %q, %v", name, reason, ok)
		}
	}
	if reason, ok := Missing("cmp", "Ordered"); !ok || !strings.Contains(reason, "constraint") {
		t.Errorf("Missing(cmp, Ordered) = %q, %v", reason, ok)
	}
	if _, ok := Missing("fmt", "Println"); ok {
		t.Error("fmt.Println is missing")
	}
}

// TestEngineTakesTables runs a program that needs each kind of symbol.
func TestEngineTakesTables(t *testing.T) {
	tables, err := Symbols("fmt", "strings", "encoding/json", "sort", "math", "time", "errors", "io")
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	i := interp.New(interp.Options{Stdout: &stdout, Stderr: &stdout})
	if err := i.Use(tables); err != nil {
		t.Fatal(err)
	}
	const program = `
import ("encoding/json"; "errors"; "fmt"; "io"; "math"; "sort"; "strings"; "time")

type celsius float64
func (c celsius) String() string { return fmt.Sprintf("%.1f°C", float64(c)) }

type failure struct{ code int }
func (f failure) Error() string { return fmt.Sprint("code ", f.code) }

type secret struct{}
func (secret) MarshalJSON() ([]byte, error) { return []byte("\"***\""), nil }

type lengths []string
func (l lengths) Len() int { return len(l) }
func (l lengths) Less(i, j int) bool { return len(l[i]) < len(l[j]) }
func (l lengths) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

func run() {
	fmt.Println(celsius(21.5), failure{3})
	b, err := json.Marshal(secret{})
	fmt.Println(string(b), err)
	l := lengths{"ccc", "a", "bb"}
	sort.Sort(l)
	fmt.Println(strings.Join(l, " "), math.Pi, time.Second*2, errors.Is(io.EOF, io.EOF))
}
`
	if _, err := i.Eval(program); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Eval("run()"); err != nil {
		t.Fatal(err)
	}
	const want = "21.5°C code 3\n\"***\" <nil>\na bb ccc 3.141592653589793 2s true\n"
	if got := stdout.String(); got != want {
		t.Errorf("printed\n%swant\n%s", got, want)
	}
}
