package eval

import (
	"go/types"
	"iter"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync/atomic"
	"unsafe"
	"weak"

	"golang.org/x/tools/go/ssa"
)

// Generic functions of compiled packages cannot be called by reflection. Those
// of packages whose source the front end supplies are translated, those that
// the host has instances of are called; the others are written here once, for
// all type arguments.

// genericNative returns an instance of a compiled generic function or method.
func (b *builder) genericNative(fn *ssa.Function, name string) native {
	sig := fn.Signature
	out := make([]reflect.Type, sig.Results().Len())
	for i := range out {
		out[i] = b.typ(sig.Results().At(i).Type(), b.pos)
	}
	if n, ok := genericNatives[name]; ok {
		return n
	}
	switch name {
	case "errors.AsType":
		return func(_ *thread, a []reflect.Value) []reflect.Value {
			target := reflect.New(out[0])
			ok := b.e.asError(errorOf(a[0]), target.Interface())
			return []reflect.Value{target.Elem(), reflect.ValueOf(ok)}
		}
	case "reflect.TypeFor":
		t := b.typ(fn.TypeArgs()[0], b.pos)
		return func(*thread, []reflect.Value) []reflect.Value { return []reflect.Value{reflect.ValueOf(t)} }
	case "reflect.TypeAssert":
		return b.typeAssertion(fn.TypeArgs()[0])
	case "sync.OnceValue", "sync.OnceValues":
		return onceOf(out[0])
	case "iter.Pull", "iter.Pull2":
		return pull(out[0], out[1])
	case "math/rand/v2.N":
		return func(_ *thread, a []reflect.Value) []reflect.Value { return []reflect.Value{randomBelow(out[0], a[0])} }
	case "sync/atomic.(*Pointer).Load", "sync/atomic.(*Pointer).Store",
		"sync/atomic.(*Pointer).Swap", "sync/atomic.(*Pointer).CompareAndSwap":
		return b.atomicPointer(fn, out)
	case "unique.Make":
		return b.e.unique(b.typ(fn.TypeArgs()[0], b.pos), out[0])
	case "unique.(Handle).Value":
		return func(_ *thread, a []reflect.Value) []reflect.Value {
			return []reflect.Value{snapshot(out[0], a[0].Field(0).UnsafePointer())}
		}
	case "weak.Make":
		return weakMake(out[0])
	case "weak.(Pointer).Value":
		return func(_ *thread, a []reflect.Value) []reflect.Value {
			p := (*weak.Pointer[byte])(dataOf(a[0])) // of one layout for all types
			return []reflect.Value{box(out[0], pointer(p.Value()))}
		}
	}
	return nil
}

// hostInstance finds an instance of a generic function that the host has.
func (b *builder) hostInstance(fn *ssa.Function) (reflect.Value, bool) {
	obj, ok := fn.Object().(*types.Func)
	if !ok || obj.Signature().Recv() != nil {
		return reflect.Value{}, false
	}
	var args []string
	for _, a := range fn.TypeArgs() {
		args = append(args, types.TypeString(a, (*types.Package).Path))
	}
	v, ok := b.e.opts.Host.Symbol(obj.Pkg().Path(), obj.Name()+"["+strings.Join(args, ",")+"]")
	return v, ok && v.Kind() == reflect.Func
}

func interfaceOf(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

// pull makes the two functions of iter.Pull for an iterator of any type.
func pull(nextType, stopType reflect.Type) native {
	return func(th *thread, a []reflect.Value) []reflect.Value {
		e := th.run.engine
		next, stop := iter.Pull(func(yield func([]reflect.Value) bool) { e.pulled(a[0], yield) })
		nextFunc := reflect.MakeFunc(nextType, func([]reflect.Value) []reflect.Value {
			v, ok := next()
			for i := len(v); i < nextType.NumOut()-1; i++ {
				v = append(v, reflect.Zero(nextType.Out(i)))
			}
			return append(v, reflect.ValueOf(ok))
		})
		stopFunc := reflect.MakeFunc(stopType, func([]reflect.Value) []reflect.Value { stop(); return nil })
		return []reflect.Value{nextFunc, stopFunc}
	}
}

// pulled runs an iterator on the goroutine of iter.Pull, which hands its panics on.
func (e *Engine) pulled(seq reflect.Value, yield func([]reflect.Value) bool) {
	defer e.passing.take() // on this goroutine
	each := reflect.MakeFunc(seq.Type().In(0), func(v []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(yield(v))}
	})
	seq.Call([]reflect.Value{each})
}

func randomBelow(t reflect.Type, limit reflect.Value) reflect.Value {
	v := fresh(t)
	if isSigned(t.Kind()) {
		v.SetInt(rand.Int64N(limit.Int()))
	} else {
		v.SetUint(rand.Uint64N(limit.Uint()))
	}
	return v
}

// atomicPointer is a method of sync/atomic.Pointer; the type's last field is
// the pointer.
func (b *builder) atomicPointer(fn *ssa.Function, out []reflect.Type) native {
	recv := b.typ(fn.Signature.Recv().Type().(*types.Pointer).Elem(), b.pos)
	offset := recv.Field(recv.NumField() - 1).Offset
	field := func(v reflect.Value) *unsafe.Pointer {
		if v.IsNil() {
			nilDereference()
		}
		return (*unsafe.Pointer)(unsafe.Add(v.UnsafePointer(), offset))
	}
	switch fn.Name() {
	case "Store":
		return func(_ *thread, a []reflect.Value) []reflect.Value {
			atomic.StorePointer(field(a[0]), word(a[1]))
			return nil
		}
	case "CompareAndSwap":
		return func(_ *thread, a []reflect.Value) []reflect.Value {
			return []reflect.Value{reflect.ValueOf(atomic.CompareAndSwapPointer(field(a[0]), word(a[1]), word(a[2])))}
		}
	case "Swap":
		return func(_ *thread, a []reflect.Value) []reflect.Value {
			return []reflect.Value{box(out[0], atomic.SwapPointer(field(a[0]), word(a[1])))}
		}
	}
	return func(_ *thread, a []reflect.Value) []reflect.Value {
		return []reflect.Value{box(out[0], atomic.LoadPointer(field(a[0])))}
	}
}
