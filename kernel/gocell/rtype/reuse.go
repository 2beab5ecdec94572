package rtype

import (
	"fmt"
	"go/types"
	"reflect"
	"sync/atomic"
	"unsafe"

	"github.com/goplus/reflectx"
)

// A new generation of a type has the methods that the one before had, and often
// one more. Those with the signature they had keep their slots: from Keep on these
// call the methods of the new generation, for values of all generations.

// form is how a method of a type is called: with a pointer to the value or with
// the value itself, which an interface may hold as it is.
type form struct {
	name    string
	pointer bool
}

// slot is where a form of a method is.
type slot struct {
	index int
	sig   *types.Signature
	value bool // the receiver is no pointer
}

// use is a form of a method by the function that it calls.
type use struct {
	call    unsafe.Pointer
	pointer bool
}

// swap is a function value that a slot is to call.
type swap struct {
	index   int
	closure unsafe.Pointer
}

func useOf(call func([]reflect.Value) []reflect.Value, pointer bool) use {
	return use{*(*unsafe.Pointer)(unsafe.Pointer(&call)), pointer}
}

// reusable finds the slots of the generation before that methods can have.
func reusable(before map[form]slot, methods []reflectx.Method, sigs []*types.Signature) map[use]int {
	list := map[use]int{}
	for i, m := range methods {
		for _, pointer := range []bool{true, false} {
			if s, ok := before[form{m.Name, pointer}]; ok && s.value != m.Pointer && types.Identical(s.sig, sigs[i]) {
				list[useOf(m.Func, pointer)] = s.index
			}
		}
	}
	return list
}

// setMethods gives a type its methods, in slots of the generation before where
// it can, and notes the slots.
func (t *Table) setMethods(typ types.Type, r reflect.Type, methods []reflectx.Method, sigs []*types.Signature) error {
	before, _ := t.slots.At(typ).(map[form]slot)
	reuse := reusable(before, methods, sigs)
	if roomFor(methods, directInInterface(r))-len(reuse) > Room() { // reflectx would take what there is, and refuse all types after this one
		return &Error{typ, fmt.Sprintf("cannot have its methods: no method slots are left (%d); restart the session", slots)}
	}
	taken, swaps, err := methodSlots.set(r, methods, reuse)
	if err != nil {
		return &Error{typ, "cannot have its methods: " + err.Error()}
	}
	now := map[form]slot{}
	for i, m := range methods {
		for _, pointer := range []bool{true, false} {
			if index, ok := taken[useOf(m.Func, pointer)]; ok {
				now[form{m.Name, pointer}] = slot{index, sigs[i], !m.Pointer}
			}
		}
	}
	t.slots.Set(typ, now)
	t.swaps = append(t.swaps, swaps...)
	return nil
}

// Keep ends a piece of work that Begin started. The methods of types made since
// have their code, and take over from those of earlier generations.
func (t *Table) Keep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.swaps {
		atomic.StorePointer(&closures[s.index], s.closure)
	}
	t.swaps, t.dropped = nil, nil
}

// set has reflectx give a type methods, some of them in slots that are in use.
func (p *provider) set(r reflect.Type, methods []reflectx.Method, reuse map[use]int) (taken map[use]int, swaps []swap, err error) {
	p.setting.Lock()
	defer p.setting.Unlock()
	p.mu.Lock()
	p.reuse, p.taken, p.swaps = reuse, map[use]int{}, nil
	p.mu.Unlock()
	err = reflectx.SetMethodSet(r, methods, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	taken, swaps = p.taken, p.swaps
	p.reuse, p.taken, p.swaps = nil, nil, nil
	return taken, swaps, err
}
