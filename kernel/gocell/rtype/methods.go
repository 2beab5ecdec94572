package rtype

import (
	"go/token"
	"go/types"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/goplus/reflectx"
)

var unsafePointer = reflect.TypeFor[unsafe.Pointer]()

func itoa(i int) string { return strconv.Itoa(i) }

// Room returns how many more methods this process can make.
func Room() int {
	_, _, free := reflectx.IcallStat()
	return free
}

// methodCounts returns the sizes of the method sets of *T and of T.
func methodCounts(typ types.Type) (all, value int) {
	if types.IsInterface(typ) {
		return 0, 0
	}
	return types.NewMethodSet(types.NewPointer(typ)).Len(), types.NewMethodSet(typ).Len()
}

// addMethods gives a made type the methods of its declaration, the promoted
// ones included.
func (t *Table) addMethods(typ types.Type, r reflect.Type) {
	if types.IsInterface(typ) {
		return
	}
	pointer := types.NewPointer(typ)
	all, value := types.NewMethodSet(pointer), types.NewMethodSet(typ)
	if all.Len() == 0 {
		return
	}
	if value.Len() > 0 && directInInterface(r) && !reflectxKnowsDirect(r) {
		defer t.disguise(typ, r)()
	}
	methods, sigs := make([]reflectx.Method, all.Len()), make([]*types.Signature, all.Len())
	for i := range methods {
		sel := all.At(i)
		fn := sel.Obj().(*types.Func)
		recv, isPointer := types.Type(pointer), true
		if s := value.Lookup(fn.Pkg(), fn.Name()); s != nil {
			sel, recv, isPointer = s, typ, false
		}
		path := ""
		if !fn.Exported() {
			path = fn.Pkg().Path()
		}
		sigs[i] = WithoutReceiver(fn)
		methods[i] = reflectx.MakeMethod(fn.Name(), path, isPointer, t.of(sigs[i]), t.Method(recv, sel))
	}
	if err := t.setMethods(typ, r, methods, sigs); err != nil {
		panic(err)
	}
}

// roomFor returns how much room methods take: those of values that an interface
// holds as they are have two forms.
func roomFor(methods []reflectx.Method, direct bool) (n int) {
	for _, m := range methods {
		if !token.IsExported(m.Name) {
			continue
		}
		if n++; direct && !m.Pointer {
			n++
		}
	}
	return n
}

// disguise makes a struct that reflectx does not know for direct one that it
// does, since they are passed alike, and returns what makes it itself again.
func (t *Table) disguise(typ types.Type, r reflect.Type) (restore func()) {
	flags := *flagsOf(r)
	own := r
	if named, ok := typ.(*types.Named); ok {
		own = t.of(named.Underlying())
	} else {
		own = reflectx.StructOf(t.fields(typ.(*types.Struct)))
	}
	reflectx.SetUnderlying(r, onePointer)
	return func() {
		reflectx.SetUnderlying(r, own)
		*flagsOf(r) = flags | *flagsOf(r)&hasMethods
	}
}

// unmask makes an array of one pointer of a type that was made as a struct of
// one: those reflectx gives methods, and the two are passed alike. An array's
// description is shorter, and what says where its methods are follows it.
func unmask(r, array reflect.Type) {
	at := func(offset uintptr) unsafe.Pointer {
		return unsafe.Add((*[2]unsafe.Pointer)(unsafe.Pointer(&r))[1], offset)
	}
	methods := *(*uncommon)(at(structSize))
	flags := *flagsOf(r)
	reflectx.SetUnderlying(r, array)
	*flagsOf(r) = flags | *flagsOf(r)&hasMethods
	methods.offset += structSize - arraySize
	*(*uncommon)(at(arraySize)) = methods
}

func isArray(named *types.Named) bool {
	_, ok := named.Underlying().(*types.Array)
	return ok
}

// uncommon says of a type with a name where its methods are, from there on. It
// follows the description of the type, which has these sizes.
type uncommon struct {
	path           int32
	count, exports uint16
	offset         uint32
	_              uint32
}

const (
	structSize = 80
	arraySize  = 72
)

type probeStruct struct{ F *int }

func (probeStruct) Probe() {}

type probeArray [1]*int

func (probeArray) Probe() {}

func init() {
	for t, size := range map[reflect.Type]uintptr{reflect.TypeFor[probeStruct](): structSize, reflect.TypeFor[probeArray](): arraySize} {
		u := (*uncommon)(unsafe.Add((*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1], size))
		if u.count != 1 || u.exports != 1 || uintptr(u.offset) < unsafe.Sizeof(*u) {
			panic("rtype: this Go release lays out the methods of types in another way")
		}
	}
}

// The flags of a type, one of which says that it has a name.
const (
	flagsOffset = 20
	isNamed     = 1 << 2
	hasMethods  = 1 << 7 // reflectx's own mark
)

func flagsOf(r reflect.Type) *uint8 {
	return (*uint8)(unsafe.Add((*[2]unsafe.Pointer)(unsafe.Pointer(&r))[1], flagsOffset))
}

func init() {
	if *flagsOf(unsafePointer)&isNamed == 0 || *flagsOf(onePointer)&isNamed != 0 {
		panic("rtype: this Go release lays out types in another way")
	}
}

var onePointer = reflect.TypeFor[struct{ F *struct{} }]()

// directInInterface reports whether an interface holds values of r as the one
// pointer that they are.
func directInInterface(r reflect.Type) bool {
	switch r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return true
	case reflect.Struct:
		return r.NumField() == 1 && directInInterface(r.Field(0).Type)
	case reflect.Array:
		return r.Len() == 1 && directInInterface(r.Elem())
	}
	return false
}

// reflectxKnowsDirect lists the direct types whose methods reflectx can call.
func reflectxKnowsDirect(r reflect.Type) bool {
	switch r.Kind() {
	case reflect.Func, reflect.Chan, reflect.Map:
		return true
	case reflect.Struct:
		return r.Field(0).Type.Kind() == reflect.Pointer
	}
	return false
}
