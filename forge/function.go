package forge

import (
	"context"
	"errors"
	"sync"

	"forgekernel/display"
	"forgekernel/forge/script"
)

// Function is a ForgeScript function as a Go value. Calling it compiles it for
// the shapes of its arguments, unless that has happened before, and runs the
// result. A call that cannot be made panics with a [*CallError]; [Function.Run]
// returns it.
//
// A Function is safe for concurrent use. The nil Function has no methods.
type Function func(args ...*Tensor) *Tensor

// function is what a Function closes over.
type function struct {
	src *script.Func
	settings
}

// inquiry lets a Function's methods reach what it closes over: called with
// exactly this tensor, which nothing outside the package can hold, the closure
// leaves its state in answer.
var inquiry struct {
	sync.Mutex
	tensor Tensor
	answer *function
}

func newFunction(src *script.Func, s settings) Function {
	f := &function{src: src, settings: s}
	return func(args ...*Tensor) *Tensor {
		if len(args) == 1 && args[0] == &inquiry.tensor {
			inquiry.answer = f
			return nil
		}
		y, err := f.run(callContext(), args)
		if err != nil {
			panic(err)
		}
		return y
	}
}

// state returns what f closes over.
func (f Function) state() *function {
	inquiry.Lock()
	defer inquiry.Unlock()
	inquiry.answer = nil
	f(&inquiry.tensor)
	return inquiry.answer
}

// Name is the name in the source.
func (f Function) Name() string { return f.state().src.Name.Name }

// Params are the names of the parameters.
func (f Function) Params() []string {
	var names []string
	for _, p := range f.state().src.Params {
		names = append(names, p.Name.Name)
	}
	return names
}

// Signature is the first line of the definition without def and the colon.
func (f Function) Signature() string { return f.state().src.Signature() }

// Doc is the function's documentation, the string that opens its body.
func (f Function) Doc() string { return f.state().src.Doc }

// Source is the text of the function.
func (f Function) Source() display.Source {
	src := f.state().src
	return display.Source{Lang: "forgescript", Code: src.Source()}
}

// Run compiles f for the shapes of args if need be and runs it under ctx. The
// error is a [*CallError] or the cause that ended ctx.
func (f Function) Run(ctx context.Context, args ...*Tensor) (*Tensor, error) {
	return f.state().run(ctx, args)
}

// Compile compiles f for inputs of the given shapes, or returns the program
// compiled before. Without shapes it takes those of the annotations. The error
// is a [*CallError].
func (f Function) Compile(shapes ...Shape) (*Program, error) { return f.compile(shapes) }

// Specialize is [Function.Compile] for a cell: it panics with the [*CallError].
func (f Function) Specialize(shapes ...Shape) *Program {
	p, err := f.compile(shapes)
	if err != nil {
		panic(err)
	}
	return p
}

func (f Function) compile(shapes []Shape) (*Program, error) {
	return nil, errors.New("compiling is not built yet")
}

func (f *function) run(ctx context.Context, args []*Tensor) (*Tensor, error) {
	return nil, errors.New("running is not built yet")
}

// Display shows the source of the function.
func (f Function) Display() display.Bundle { return display.ToBundle(f.Source()) }
