package rtype

import (
	"reflect"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/goplus/reflectx/abi"
)

// shape is a method's signature with arguments in registers of both kinds and
// on the stack.
type shape = func(recv *int, text string, x float64, list []int, wide [20]int) (string, float64, []int)

// TestSlots takes every slot that is left and calls its code as a method table
// does, with garbage collected in between.
func TestSlots(t *testing.T) {
	p := abi.Default.List()[0].(*provider)
	var taken []int
	var codes []unsafe.Pointer
	defer func() { p.Remove(taken) }()
	for {
		f := func(recv *int, text string, x float64, list []int, wide [20]int) (string, float64, []int) {
			runtime.Gosched()
			return text + "!", x + float64(*recv), append(list, wide[19])
		}
		number := len(taken)
		made := reflect.MakeFunc(reflect.TypeFor[shape](), func(args []reflect.Value) []reflect.Value {
			if number%1000 == 0 {
				runtime.GC()
			}
			out := reflect.ValueOf(f).Call(args)
			out[2].Index(0).SetInt(int64(number))
			return out
		})
		code, index := p.Insert(&abi.MethodInfo{Type: reflect.TypeFor[int](), Func: made, Pointer: true})
		if index < 0 {
			break
		}
		taken, codes = append(taken, index), append(codes, code)
	}
	if p.Available() != 0 || p.Used() != slots || len(taken) < slots/2 {
		t.Fatalf("%d slots taken, %d used, %d left", len(taken), p.Used(), p.Available())
	}
	for number, code := range codes {
		closure := &code
		call := *(*shape)(unsafe.Pointer(&closure))
		recv := new(int)
		*recv = number
		text, x, list := call(recv, "text", 0.5, []int{-1, 7}, [20]int{19: 19})
		if text != "text!" || x != float64(number)+0.5 || !slices.Equal(list, []int{number, 7, 19}) {
			t.Fatalf("slot %d gives %q, %v, %v", taken[number], text, x, list)
		}
	}
}

// TestSlotOfValue calls a method on values, which a method table hands a
// pointer.
func TestSlotOfValue(t *testing.T) {
	p := abi.Default.List()[0].(*provider)
	double := func(args []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(2 * args[0].Interface().([3]int)[2])}
	}
	code, index := p.Insert(&abi.MethodInfo{
		Type: reflect.TypeFor[[3]int](), Func: reflect.MakeFunc(reflect.TypeFor[func([3]int) int](), double), Call: double,
	})
	defer p.Remove([]int{index})
	closure := &code
	if got := (*(*func(*[3]int) int)(unsafe.Pointer(&closure)))(&[3]int{1, 2, 21}); got != 42 {
		t.Errorf("the method returns %d", got)
	}
}
