// Package forge is the public face of the compiler: what Go cells and the
// command line use.
//
// ForgeScript source becomes [Function] values. Calling one with tensors
// compiles it for their shapes, once, and runs the result; the compiled form is
// a [Program], which can be looked at from every side:
//
//	fns, err := forge.Define(src)               // def layer(x, w, b): …
//	layer := fns[0]
//	y := layer(x, w, b)                         // panics with a *CallError
//	y, err := layer.Run(ctx, x, w, b)           // or returns it
//	ys := pair.All(x)                           // the results of return a, b
//	p := layer.Specialize(forge.Shape{8, 16}, forge.Shape{16, 12}, forge.Shape{12})
//	p.IR(); p.Graph(); p.Plan(); p.Explain(); p.Check(); p.Bench()
//
// A program also comes from a graph ([FromGraph]) or, at any point between two
// passes, from its text ([Program.Dump], [FromIR]).
//
// A [Model] is a file: ONNX, or a program of torch.export. It compiles for what a
// [Binding] settles of its open sizes, or runs on tensors by name:
//
//	m := forge.Load("model.onnx")               // panics; Open returns the error
//	p := m.Specialize(forge.Binding{Dims: map[string]int{"batch": 4}})
//	y := m.Call(map[string]*forge.Tensor{"x": x}).Get("logits")
//
// A [Library] holds the functions of a notebook, so that cells can call one
// another's functions; redefining one reaches its existing callers.
package forge

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/script"
	"forgekernel/forge/tensor"
)

// Tensor is a dense tensor in host memory.
type Tensor = tensor.Tensor

// Shape is the extent of a tensor in each dimension; nil is a scalar.
type Shape = []int

// Spec is an element type and a shape.
type Spec = ir.Spec

// Limits bound what ForgeScript source may cost.
type Limits = script.Limits

// Errors are the problems of ForgeScript source.
type Errors = script.Errors

// Parse parses and checks ForgeScript source without compiling it. The error
// is an [Errors].
func Parse(src string, opts ...Option) (*script.File, error) {
	s := newSettings(opts)
	return script.Parse(s.name, src, s.scope(), s.limits)
}

// Define parses ForgeScript source and returns its functions in order. The
// error is an [Errors].
func Define(src string, opts ...Option) ([]Function, error) {
	s := newSettings(opts)
	file, err := script.Parse(s.name, src, s.scope(), s.limits)
	if err != nil {
		return nil, err
	}
	fns := make([]Function, len(file.Funcs))
	for i, f := range file.Funcs {
		fns[i] = newFunction(f, s)
	}
	return fns, nil
}

// Compile compiles the entry function of ForgeScript source, the last one
// unless [Entry] names another, for the shapes of [Shapes] or else of its
// annotations.
func Compile(src string, opts ...Option) (*Program, error) {
	fn, err := define(src, opts)
	if err != nil {
		return nil, err
	}
	return fn.Compile(callContext(), newSettings(opts).shapes...)
}
