package rtype

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/goplus/reflectx/abi"
)

// A method table holds bare addresses of code, with no place for a closure. So
// each method of a made type has a slot: a few instructions, of which there are
// as many as slots, that load the slot's closure as a call of a function value
// does and jump to its code, which is reflect's own for made functions.

// slots is how many there are, and slotSize the bytes from one to the next in
// the assembly.
const (
	slots    = 8192
	slotSize = 16
)

// closures are the function values of the slots, nil for those that are free.
var closures [slots]unsafe.Pointer

// firstSlot is the address of the first slot's code.
var firstSlot unsafe.Pointer

// provider hands slots to reflectx, instead of its own code, which takes 400
// bytes a method.
type provider struct {
	mu    sync.Mutex
	begun int   // slots from here on were never taken
	freed []int // of those before

	setting sync.Mutex  // held while a type gets its methods
	reuse   map[use]int // slots that its methods are to have
	taken   map[use]int // slots that they have
	swaps   []swap      // what the slots of reuse are to call
}

var methodSlots = new(provider)

func init() {
	abi.Default = new(abi.MethodProviderList)
	abi.AddMethodProvider(methodSlots)
}

// Insert implements abi.MethodProvider.
func (p *provider) Insert(m *abi.MethodInfo) (code unsafe.Pointer, index int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := m.Func
	if m.Indirect || !m.Pointer && !m.OnePtr {
		f = throughPointer(m)
	}
	closure := (*[2]unsafe.Pointer)(unsafe.Pointer(&f))[1]
	used := useOf(m.Call, m.Pointer)
	if index, ok := p.reuse[used]; ok {
		p.taken[used], p.swaps = index, append(p.swaps, swap{index, closure})
		return unsafe.Add(firstSlot, index*slotSize), index
	}
	switch n := len(p.freed); {
	case n > 0:
		index, p.freed = p.freed[n-1], p.freed[:n-1]
	case p.begun < slots:
		index, p.begun = p.begun, p.begun+1
	default:
		return nil, -1
	}
	closures[index] = closure
	if p.taken != nil {
		p.taken[used] = index
	}
	return unsafe.Add(firstSlot, index*slotSize), index
}

// throughPointer makes the function of a method on values as method tables
// have it, with a pointer to the receiver.
func throughPointer(m *abi.MethodInfo) reflect.Value {
	t := m.Func.Type()
	in := []reflect.Type{reflect.PointerTo(m.Type)}
	for i := 1; i < t.NumIn(); i++ {
		in = append(in, t.In(i))
	}
	var out []reflect.Type
	for o := range t.Outs() {
		out = append(out, o)
	}
	return reflect.MakeFunc(reflect.FuncOf(in, out, m.Variadic), func(args []reflect.Value) []reflect.Value {
		args[0] = args[0].Elem()
		return m.Call(args)
	})
}

// Remove implements abi.MethodProvider.
func (p *provider) Remove(indices []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range indices {
		closures[i] = nil
		p.freed = append(p.freed, i)
	}
}

// Available implements abi.MethodProvider.
func (p *provider) Available() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slots - p.begun + len(p.freed) + len(p.reuse)
}

// Used implements abi.MethodProvider.
func (p *provider) Used() int { return slots - p.Available() }

// Cap implements abi.MethodProvider.
func (p *provider) Cap() int { return slots }

// Clear implements abi.MethodProvider.
func (p *provider) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(closures[:])
	p.begun, p.freed = 0, nil
}
