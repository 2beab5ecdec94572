package eval

import (
	"reflect"
	"sync"
)

// once is what sync.OnceFunc, OnceValue and OnceValues make: a function that calls
// another one once and keeps its results or its panic. What ends the cell, as an
// interrupt does, is not kept: the next call begins anew.
type once struct {
	f reflect.Value

	mu      sync.Mutex
	done    bool
	results []reflect.Value
	failure any
}

// onceOf makes them as functions of type t.
func onceOf(t reflect.Type) native {
	return func(_ *thread, a []reflect.Value) []reflect.Value {
		o := &once{f: a[0]}
		return []reflect.Value{reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value { return o.call() })}
	}
}

func (o *once) call() []reflect.Value {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.done {
		o.run()
	}
	if o.failure != nil {
		panic(o.failure)
	}
	return o.results
}

func (o *once) run() {
	defer func() {
		r := recover()
		if isFatal(r) {
			panic(r)
		}
		o.f, o.done, o.failure = reflect.Value{}, true, r
	}()
	if o.f.IsNil() {
		nilDereference()
	}
	o.results = o.f.Call(nil)
}
