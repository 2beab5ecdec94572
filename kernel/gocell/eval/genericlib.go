package eval

import (
	"crypto/hkdf"
	"crypto/pbkdf2"
	"database/sql"
	"go/types"
	"hash"
	"hash/maphash"
	"reflect"
	"runtime"
	"unique"
	"unsafe"
	"weak"
)

// genericNatives are generic functions that do the same for all type arguments:
// compiled ones do it, with values that have lost their type.
var genericNatives = map[string]native{
	"crypto/hkdf.Expand": func(_ *thread, a []reflect.Value) []reflect.Value {
		return bytesOrError(hkdf.Expand(hashes(a[0]), a[1].Bytes(), a[2].String(), int(a[3].Int())))
	},
	"crypto/hkdf.Extract": func(_ *thread, a []reflect.Value) []reflect.Value {
		return bytesOrError(hkdf.Extract(hashes(a[0]), a[1].Bytes(), a[2].Bytes()))
	},
	"crypto/hkdf.Key": func(_ *thread, a []reflect.Value) []reflect.Value {
		return bytesOrError(hkdf.Key(hashes(a[0]), a[1].Bytes(), a[2].Bytes(), a[3].String(), int(a[4].Int())))
	},
	"crypto/pbkdf2.Key": func(_ *thread, a []reflect.Value) []reflect.Value {
		return bytesOrError(pbkdf2.Key(hashes(a[0]), a[1].String(), a[2].Bytes(), int(a[3].Int()), int(a[4].Int())))
	},
	"hash/maphash.Comparable": func(_ *thread, a []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(maphash.Comparable(a[0].Interface().(maphash.Seed), interfaceOf(a[1])))}
	},
	"hash/maphash.WriteComparable": func(_ *thread, a []reflect.Value) []reflect.Value {
		maphash.WriteComparable(a[0].Interface().(*maphash.Hash), interfaceOf(a[1]))
		return nil
	},
	"database/sql.(*Null).Scan": func(_ *thread, a []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(scanNull(a[0], interfaceOf(a[1])))}
	},
	"database/sql.(Null).Value": func(_ *thread, a []reflect.Value) []reflect.Value {
		v, err := sql.Null[any]{V: a[0].Field(0).Interface(), Valid: a[0].Field(1).Bool()}.Value()
		return []reflect.Value{reflect.ValueOf(v), reflect.ValueOf(err)}
	},
	"runtime.AddCleanup": func(_ *thread, a []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(addCleanup(a[0].UnsafePointer(), a[1], a[2]))}
	},
}

// hashes is a function that makes a hash of some type, as one that makes any.
func hashes(f reflect.Value) func() hash.Hash {
	return func() hash.Hash { return f.Call(nil)[0].Interface().(hash.Hash) }
}

func bytesOrError(b []byte, err error) []reflect.Value {
	return []reflect.Value{reflect.ValueOf(b), reflect.ValueOf(err)}
}

// scanNull is a database/sql.Null that takes a value from a database.
func scanNull(null reflect.Value, value any) error {
	v, valid := null.Elem().Field(0), null.Elem().Field(1)
	valid.SetBool(value != nil)
	if value == nil {
		v.SetZero()
		return nil
	}
	return convertAssign(v.Addr().Interface(), value)
}

// convertAssign is a function that database/sql keeps for packages that reach it
// like this.
//
//go:linkname convertAssign database/sql.convertAssign
func convertAssign(dest, src any) error

// addCleanup looks at the argument as the runtime does, which here would see a
// value of another type.
func addCleanup(p pointer, cleanup, arg reflect.Value) runtime.Cleanup {
	if p != nil && arg.IsValid() && (arg.Kind() == reflect.Pointer || arg.Kind() == reflect.UnsafePointer) && word(arg) == p {
		panic("runtime.AddCleanup: ptr is equal to arg, cleanup will never run")
	}
	arg = static(cleanup.Type().In(0), arg)
	return runtime.AddCleanup((*byte)(p), func(args []reflect.Value) { cleanup.Call(args) }, []reflect.Value{arg})
}

// typeAssertion is reflect.TypeAssert for a type.
func (b *builder) typeAssertion(t types.Type) native {
	want := b.typ(t, b.pos)
	test := b.typeTest(t, want)
	return func(_ *thread, a []reflect.Value) []reflect.Value {
		x, _ := reflect.TypeAssert[any](a[0].Interface().(reflect.Value))
		v := reflect.ValueOf(x)
		switch {
		case !test(v):
			return []reflect.Value{reflect.Zero(want), reflect.ValueOf(false)}
		case want.Kind() != reflect.Interface:
			v = static(want, v)
		}
		return []reflect.Value{v, reflect.ValueOf(true)}
	}
}

// unique is unique.Make for a type. A value once made stays for the session.
func (e *Engine) unique(t, handle reflect.Type) native {
	type key struct {
		typ   reflect.Type
		value any
	}
	return func(_ *thread, a []reflect.Value) []reflect.Value {
		made, _ := e.uniques.Load(key{t, interfaceOf(a[0])})
		if made == nil {
			p := alloc(t)
			put(t, p, a[0])
			made, _ = e.uniques.LoadOrStore(key{t, interfaceOf(a[0])}, p)
		}
		h := fresh(handle)
		*(*pointer)(dataOf(h)) = made.(pointer)
		return []reflect.Value{h}
	}
}

// weakMake is weak.Make for a type of pointers.
func weakMake(t reflect.Type) native {
	return func(_ *thread, a []reflect.Value) []reflect.Value {
		p := weak.Make((*byte)(word(a[0])))
		return []reflect.Value{at(t, unsafe.Pointer(&p))}
	}
}

// A unique.Handle is a pointer to its value, and weak pointers to all types are alike.
func init() {
	h, x := unique.Make(7), new([2]string)
	p := weak.Make((*byte)(pointer(x)))
	if unsafe.Sizeof(h) != unsafe.Sizeof(pointer(x)) || **(**int)(pointer(&h)) != 7 {
		panic("eval: this Go release makes unique handles in another way")
	}
	if unsafe.Sizeof(p) != unsafe.Sizeof(weak.Pointer[[2]string]{}) || (*weak.Pointer[[2]string])(pointer(&p)).Value() != x {
		panic("eval: this Go release makes weak pointers in another way")
	}
}
