package rtype

import (
	"fmt"
	"go/types"
	"reflect"
	"sync"

	"github.com/goplus/reflectx"
)

var basic = map[types.BasicKind]reflect.Type{
	types.Bool: reflect.TypeFor[bool](), types.String: reflect.TypeFor[string](),
	types.Int: reflect.TypeFor[int](), types.Int8: reflect.TypeFor[int8](), types.Int16: reflect.TypeFor[int16](),
	types.Int32: reflect.TypeFor[int32](), types.Int64: reflect.TypeFor[int64](),
	types.Uint: reflect.TypeFor[uint](), types.Uint8: reflect.TypeFor[uint8](), types.Uint16: reflect.TypeFor[uint16](),
	types.Uint32: reflect.TypeFor[uint32](), types.Uint64: reflect.TypeFor[uint64](), types.Uintptr: reflect.TypeFor[uintptr](),
	types.Float32: reflect.TypeFor[float32](), types.Float64: reflect.TypeFor[float64](),
	types.Complex64: reflect.TypeFor[complex64](), types.Complex128: reflect.TypeFor[complex128](),
	types.UnsafePointer: unsafePointer,
	types.UntypedBool:   reflect.TypeFor[bool](), types.UntypedInt: reflect.TypeFor[int](), types.UntypedRune: reflect.TypeFor[rune](),
	types.UntypedFloat: reflect.TypeFor[float64](), types.UntypedComplex: reflect.TypeFor[complex128](),
	types.UntypedString: reflect.TypeFor[string](), types.UntypedNil: emptyInterface,
}

var (
	emptyInterface = reflect.TypeFor[any]()
	emptyStruct    = reflect.TypeFor[struct{}]()
	chanDirs       = map[types.ChanDir]reflect.ChanDir{
		types.SendRecv: reflect.BothDir, types.SendOnly: reflect.SendDir, types.RecvOnly: reflect.RecvDir,
	}
)

// of returns the type of typ; made types in it may still be unfinished.
func (t *Table) of(typ types.Type) reflect.Type {
	typ = types.Unalias(typ)
	if r, ok := t.cache.At(typ).(reflect.Type); ok {
		return r
	}
	var r reflect.Type
	if named, ok := typ.(*types.Named); ok {
		if r = t.host(named); r == nil {
			return t.declare(named)
		}
	} else {
		r = t.unnamed(typ)
	}
	t.enter(typ, r)
	return r
}

func (t *Table) enter(typ types.Type, r reflect.Type) {
	t.cache.Set(typ, r)
	t.news = append(t.news, typ)
	if _, named := typ.(*types.Named); !named && t.former != nil && t.generations.At(typ) != nil {
		t.generation(typ, r)
	}
}

// host looks a named type up among the compiled ones.
func (t *Table) host(named *types.Named) reflect.Type {
	obj := named.Obj()
	if obj.Pkg() == nil {
		return reflect.TypeFor[error]() // the only named type of the universe that is not a constraint
	}
	if basic, ok := named.Underlying().(*types.Basic); ok && basic.Kind() == types.UnsafePointer && obj.Pkg().Path() == "$ssa" {
		return unsafePointer // the translator's own iterators and lists of deferred calls
	}
	if obj.Pkg().Path() == "main" || t.Own != nil && t.Own(obj.Pkg().Path()) || named.TypeArgs().Len() > 0 {
		return nil
	}
	if r, ok := t.Host(obj.Pkg().Path(), obj.Name()); ok {
		return r
	}
	if obj.Parent() != obj.Pkg().Scope() || !obj.Exported() {
		return nil // declared in interpreted source, or met before it was learnt
	}
	panic(&Error{named, "is not part of this binary"})
}

func (t *Table) unnamed(typ types.Type) reflect.Type {
	switch typ := typ.(type) {
	case *types.Basic:
		return basic[typ.Kind()]
	case *types.Pointer:
		return reflect.PointerTo(t.of(typ.Elem()))
	case *types.Slice:
		return reflect.SliceOf(t.of(typ.Elem()))
	case *types.Array:
		return reflect.ArrayOf(t.arrayLen(typ), t.of(typ.Elem()))
	case *types.Map:
		return reflect.MapOf(t.of(typ.Key()), t.of(typ.Elem()))
	case *types.Chan:
		return t.channel(typ)
	case *types.Signature:
		return reflect.FuncOf(t.tuple(typ.Params()), t.tuple(typ.Results()), typ.Variadic())
	case *types.Struct:
		return t.structure(typ)
	case *types.Interface:
		return t.iface(typ)
	}
	panic(&Error{typ, "has no run-time representation"})
}

const maxArray = 1 << 30

func (t *Table) arrayLen(a *types.Array) int {
	if a.Len() < 0 || a.Len() > maxArray {
		panic(&Error{a, "is too large"})
	}
	return int(a.Len())
}

// maxMessage is the size of the largest value that a channel carries.
const maxMessage = 1<<16 - 1

func (t *Table) channel(c *types.Chan) reflect.Type {
	elem := t.of(c.Elem())
	if elem.Size() > maxMessage {
		panic(&Error{c, "carries values that are too large"})
	}
	return reflect.ChanOf(chanDirs[c.Dir()], elem)
}

func (t *Table) tuple(vars *types.Tuple) []reflect.Type {
	list := make([]reflect.Type, vars.Len())
	for i := range list {
		list[i] = t.of(vars.At(i).Type())
	}
	return list
}

func (t *Table) fields(s *types.Struct) []reflect.StructField {
	list := make([]reflect.StructField, s.NumFields())
	for i := range list {
		f := s.Field(i)
		list[i] = reflect.StructField{
			Name: f.Name(), Type: t.of(f.Type()), Tag: reflect.StructTag(s.Tag(i)), Anonymous: f.Embedded(),
		}
		if !f.Exported() {
			list[i].PkgPath = f.Pkg().Path()
		}
	}
	return list
}

func (t *Table) iface(i *types.Interface) reflect.Type {
	if i.NumMethods() == 0 {
		return emptyInterface
	}
	if t.begun[i] {
		panic(&Error{i, "refers to itself without a name"})
	}
	if t.begun == nil {
		t.begun = map[*types.Interface]bool{}
	}
	t.begun[i] = true
	defer delete(t.begun, i)
	methods := make([]reflect.Method, i.NumMethods())
	private := ""
	for k := range methods {
		m := i.Method(k)
		methods[k] = reflect.Method{Name: m.Name(), Type: t.of(WithoutReceiver(m))}
		if !m.Exported() {
			methods[k].PkgPath = m.Pkg().Path()
			private = m.Pkg().Path()
		}
	}
	if private != "" {
		return interfacesOf(private, methods)
	}
	return reflectx.InterfaceOf(nil, methods)
}

// The maker of interfaces knows them by the names of their methods alone, which
// do not tell those of one package from those of another when they are not
// exported.
var interfaces struct {
	sync.Mutex
	contexts map[string]*reflectx.Context
}

func interfacesOf(path string, methods []reflect.Method) reflect.Type {
	interfaces.Lock()
	defer interfaces.Unlock()
	c := interfaces.contexts[path]
	if c == nil {
		c = reflectx.NewContext()
		if interfaces.contexts == nil {
			interfaces.contexts = map[string]*reflectx.Context{}
		}
		interfaces.contexts[path] = c
	}
	return c.InterfaceOf(nil, methods)
}

// WithoutReceiver is the signature of a method as its function value has it.
func WithoutReceiver(m *types.Func) *types.Signature {
	sig := m.Signature()
	return types.NewSignatureType(nil, nil, nil, sig.Params(), sig.Results(), sig.Variadic())
}

// declare makes the stand-in of a declared type and leaves the rest to finish.
func (t *Table) declare(named *types.Named) reflect.Type {
	obj := named.Obj()
	path := "main"
	if obj.Pkg() != nil {
		path = obj.Pkg().Path()
	}
	all, value := methodCounts(named)
	standIn := t.standIn(named.Underlying())
	if value > 0 && standIn.Kind() == reflect.Array && directInInterface(standIn) {
		standIn = onePointer // see unmask
	}
	r := reflectx.NamedTypeOf(path, t.typeName(named), standIn)
	if all > 0 {
		r = reflectx.NewMethodSet(r, value, all)
	}
	t.enter(named, r)
	t.make(named, r)
	return r
}

// make notes a type whose methods are still to come.
func (t *Table) make(origin types.Type, r reflect.Type) {
	if t.made == nil {
		t.made = map[reflect.Type]types.Type{}
	}
	t.made[r] = origin
	t.queue = append(t.queue, unfinished{origin, r})
}

// structure makes a struct type without a name. One that embeds methods is a
// type of its own, whose methods are added once those of its fields are there.
func (t *Table) structure(s *types.Struct) reflect.Type {
	r := reflectx.StructOf(t.fields(s))
	if all, value := methodCounts(s); all > 0 {
		r = reflectx.NewMethodSet(r, value, all)
		t.make(s, r)
	}
	return r
}

// maxComponents bounds the work on one type: structs may hold structs twice, those
// two more, and so on.
const maxComponents = 1 << 17

// standIn returns a type with the layout of typ in which everything behind a
// reference is blank. Values contain one another without cycles, so it ends.
func (t *Table) standIn(typ types.Type) reflect.Type {
	typ = types.Unalias(typ)
	if t.parts++; t.parts > maxComponents {
		panic(&Error{typ, fmt.Sprintf("makes the type too large (more than %d components)", maxComponents)})
	}
	switch typ := typ.(type) {
	case *types.Named:
		if r, ok := t.cache.At(typ).(reflect.Type); ok {
			return r
		}
		if r := t.host(typ); r != nil {
			return r
		}
		return t.standIn(typ.Underlying())
	case *types.Basic:
		return basic[typ.Kind()]
	case *types.Pointer:
		return reflect.PointerTo(emptyStruct)
	case *types.Slice:
		return reflect.SliceOf(emptyStruct)
	case *types.Array:
		return reflect.ArrayOf(t.arrayLen(typ), t.standIn(typ.Elem()))
	case *types.Map:
		return reflect.MapOf(emptyStruct, emptyStruct)
	case *types.Chan:
		return reflect.ChanOf(chanDirs[typ.Dir()], emptyStruct)
	case *types.Signature:
		return t.standInFunc(typ)
	case *types.Struct:
		fields := make([]reflect.StructField, typ.NumFields())
		for i := range fields {
			fields[i] = reflect.StructField{Name: "F" + itoa(i), Type: t.standIn(typ.Field(i).Type())}
		}
		return reflect.StructOf(fields)
	case *types.Interface:
		return emptyInterface
	}
	panic(&Error{typ, "has no run-time representation"})
}

func (t *Table) standInFunc(sig *types.Signature) reflect.Type {
	blank := func(n int) []reflect.Type {
		list := make([]reflect.Type, n)
		for i := range list {
			list[i] = emptyStruct
		}
		return list
	}
	in := blank(sig.Params().Len())
	if sig.Variadic() {
		in[len(in)-1] = reflect.SliceOf(emptyStruct)
	}
	return reflect.FuncOf(in, blank(sig.Results().Len()), sig.Variadic())
}

// finish completes the declared types made so far, and those met on the way.
func (t *Table) finish() {
	for len(t.queue) > 0 {
		u := t.queue[0]
		named, ok := u.origin.(*types.Named)
		switch {
		case !ok:
			t.addMethods(u.origin, u.typ)
		case u.typ.Kind() == reflect.Struct && isArray(named):
			t.addMethods(u.origin, u.typ)
			unmask(u.typ, t.of(named.Underlying()))
		default:
			reflectx.SetUnderlying(u.typ, t.of(named.Underlying()))
			t.addMethods(u.origin, u.typ)
		}
		t.generation(u.origin, u.typ)
		t.queue = t.queue[1:]
	}
}

// forget drops types that could not be finished.
func (t *Table) forget(list []unfinished) {
	for _, u := range list {
		t.cache.Delete(u.origin)
		delete(t.made, u.typ)
	}
}
