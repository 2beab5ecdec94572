package gocell

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"unsafe"

	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/rtype"
)

// The checker knows the instances of a generic type one by one, and gives each
// its methods when they are first asked for. A method that a later cell adds to
// the type, or gives another signature, is therefore put into the instances that
// have their methods already; the others will see it by themselves.

// grown notes the methods, by their index, that types got after the cell of
// their declaration.
type grown map[*types.Named]map[int]bool

func (g grown) add(origin *types.Named, method *types.Func) {
	if g[origin] == nil {
		g[origin] = map[int]bool{}
	}
	g[origin][slices.Index(slices.Collect(origin.Methods()), method)] = true
}

// renew brings the instances that a type is built from up to date.
func (g grown) renew(list ...types.Type) {
	if len(g) == 0 {
		return
	}
	w := typeWalk{seen: map[types.Type]bool{}}
	w.instance = func(inst *types.Named) {
		if fresh := g.renewInstance(inst); fresh != nil {
			w.seen[fresh] = true
		}
	}
	for _, t := range list {
		w.walk(t)
	}
}

// renewInstance gives an instance the methods of a fresh one, which it returns,
// where its own are missing or old.
func (g grown) renewInstance(inst *types.Named) *types.Named {
	changed := g[inst.Origin()]
	have := methodSlice(inst)
	if changed == nil || len(*have) == 0 && !isExpanded(inst) {
		return nil
	}
	made, err := types.Instantiate(nil, inst.Origin(), slices.Collect(inst.TypeArgs().Types()), false)
	if err != nil { // only the number of arguments is looked at, and that is right
		panic(err)
	}
	fresh := made.(*types.Named)
	list := make([]*types.Func, inst.NumMethods())
	known := copy(list, *have)
	for i := range list {
		if i >= known || changed[i] {
			list[i] = fresh.Method(i)
		}
	}
	*have = list
	return fresh
}

// What the checker keeps to itself: the methods of an instance, the context that
// it drops once all of them are there, and the scope of a declared function.
var (
	methodsField = hidden[types.Named, []*types.Func]("methods")
	scopeField   = hidden[types.Signature, *types.Scope]("scope")
	instField    = fieldOf(reflect.TypeFor[types.Named](), "inst")
	contextField = fieldOf(instField.Type.Elem(), "ctxt")
)

func hidden[S, F any](name string) reflect.StructField {
	f := fieldOf(reflect.TypeFor[S](), name)
	if f.Type != reflect.TypeFor[F]() {
		panic("gocell: this Go release's checker keeps " + name + " in another way")
	}
	return f
}

func fieldOf(t reflect.Type, name string) reflect.StructField {
	f, ok := t.FieldByName(name)
	if !ok {
		panic("gocell: this Go release's checker has no " + name)
	}
	return f
}

func methodSlice(t *types.Named) *[]*types.Func {
	return (*[]*types.Func)(unsafe.Add(unsafe.Pointer(t), methodsField.Offset))
}

func scopeOf(sig *types.Signature) **types.Scope {
	return (**types.Scope)(unsafe.Add(unsafe.Pointer(sig), scopeField.Offset))
}

// isExpanded reports whether an instance has all methods that its type had.
func isExpanded(t *types.Named) bool {
	inst := *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(t), instField.Offset))
	return *(*unsafe.Pointer)(unsafe.Add(inst, contextField.Offset)) == nil
}

// typeWalk meets the instances of generic types that types are built from.
type typeWalk struct {
	seen     map[types.Type]bool
	instance func(*types.Named)
}

func (w *typeWalk) walk(t types.Type) {
	if t == nil || w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		w.named(t)
	case *types.Alias:
		for a := range t.TypeArgs().Types() {
			w.walk(a)
		}
		w.walk(types.Unalias(t))
	case *types.Tuple:
		for v := range t.Variables() {
			w.walk(v.Type())
		}
	case *types.Signature:
		if r := t.Recv(); r != nil {
			w.walk(r.Type())
		}
		rtype.Parts(t, w.walk)
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			w.walk(m.Type())
		}
		for e := range t.EmbeddedTypes() {
			w.walk(e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.walk(term.Type())
		}
	case *types.TypeParam:
		w.walk(t.Constraint())
	default:
		rtype.Parts(t, w.walk)
	}
}

func (w *typeWalk) named(t *types.Named) {
	for a := range t.TypeArgs().Types() {
		w.walk(a)
	}
	if t.Obj().Pkg() == nil || t.Obj().Pkg().Path() != "main" {
		return // what a package declares has no types of cells in it
	}
	if t.TypeArgs().Len() > 0 {
		w.instance(t)
	}
	for _, m := range *methodSlice(t) {
		if m != nil {
			w.walk(m.Type())
		}
	}
	w.walk(t.Underlying())
}

// renewInstances brings up to date all instances that the session knows.
func (s *Session) renewInstances() {
	var list []types.Type
	for _, sym := range s.scope.symbols {
		if sym.obj != nil {
			list = append(list, sym.obj.Type())
		}
	}
	for _, u := range s.scope.units {
		list = append(list, typesOf(u)...)
	}
	s.engine.Reshape(func(known []types.Type) { s.scope.grown.renew(append(list, known...)...) })
}

// typesOf lists the types that a unit's syntax has to do with.
func typesOf(u *eval.Unit) []types.Type {
	var list []types.Type
	for _, tv := range u.Info.Types {
		list = append(list, tv.Type)
	}
	for _, objects := range []map[*ast.Ident]types.Object{u.Info.Defs, u.Info.Uses} {
		for _, obj := range objects {
			if obj != nil {
				list = append(list, obj.Type())
			}
		}
	}
	for _, i := range u.Info.Instances {
		list = append(list, i.Type)
	}
	for _, sel := range u.Info.Selections {
		list = append(list, sel.Recv(), sel.Type())
	}
	return list
}
