package rtype

import (
	"go/types"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/goplus/reflectx"
)

var unsafePointer = reflect.TypeFor[unsafe.Pointer]()

func itoa(i int) string { return strconv.Itoa(i) }

// methodCounts returns the sizes of the method sets of *T and of T.
func methodCounts(named *types.Named) (all, value int) {
	if types.IsInterface(named) {
		return 0, 0
	}
	return types.NewMethodSet(types.NewPointer(named)).Len(), types.NewMethodSet(named).Len()
}

// addMethods gives a made type the methods of its declaration, the promoted
// ones included.
func (t *Table) addMethods(named *types.Named, r reflect.Type) {
	if types.IsInterface(named) {
		return
	}
	pointer := types.NewPointer(named)
	all, value := types.NewMethodSet(pointer), types.NewMethodSet(named)
	if all.Len() == 0 {
		return
	}
	if value.Len() > 0 && directInInterface(r) && !reflectxKnowsDirect(r) {
		if r.Kind() != reflect.Struct {
			panic(&Error{named, "has methods on values and is an array of one pointer; make it a struct"})
		}
		// reflectx must see what it knows: a struct of one pointer is passed
		// just as a struct of one map, channel or function.
		reflectx.SetUnderlying(r, onePointer)
		defer reflectx.SetUnderlying(r, t.of(named.Underlying()))
	}
	methods := make([]reflectx.Method, all.Len())
	for i := range methods {
		sel := all.At(i)
		fn := sel.Obj().(*types.Func)
		recv, isPointer := types.Type(pointer), true
		if s := value.Lookup(fn.Pkg(), fn.Name()); s != nil {
			sel, recv, isPointer = s, named, false
		}
		path := ""
		if !fn.Exported() {
			path = fn.Pkg().Path()
		}
		methods[i] = reflectx.MakeMethod(fn.Name(), path, isPointer,
			t.of(withoutReceiver(sel.Obj().(*types.Func))), t.Method(recv, sel))
	}
	if err := reflectx.SetMethodSet(r, methods, false); err != nil {
		panic(&Error{named, "has more methods than this session has room for; restart the session"})
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
