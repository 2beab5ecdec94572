package forge

import (
	"context"
	"fmt"
	"sync"

	"forgekernel/display"
	"forgekernel/display/chart"
	"forgekernel/forge/ir"
	"forgekernel/forge/script"
)

// Function is a ForgeScript function as a Go value. Calling it compiles it for
// the shapes of its arguments, unless that has happened before, and runs the
// result. A call that cannot be made panics with a [*CallError], one that is
// interrupted with the cause of its context (see [SetContext]); [Function.Run]
// returns either. A function that returns a tuple is called with [Function.All]
// or [Function.RunAll].
//
// A Function is safe for concurrent use.
type Function func(args ...*Tensor) *Tensor

// function is what a Function closes over.
type function struct {
	src *script.Func
	settings
	programs cache
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
		return cell(f.run(callContext(), args))
	}
}

// state returns what f closes over.
func (f Function) state() *function {
	inquiry.Lock()
	defer inquiry.Unlock()
	inquiry.answer = nil
	if f != nil {
		f(&inquiry.tensor)
	}
	if inquiry.answer == nil {
		panic(&CallError{Diagnostic: diagnostic("this forge.Function was not made from ForgeScript", "take one that a def or forge.Define gives")})
	}
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
func (f Function) Source() display.Source { return f.state().source() }

func (f *function) source() display.Source {
	return display.Source{Lang: "forgescript", Code: f.src.Source(), Name: f.src.Pos().Source}
}

func (f *function) programName() string { return f.src.Name.Name }

// Run compiles f for the shapes of args if need be and runs it under ctx. The
// error is a [*CallError] or the cause that ended ctx.
func (f Function) Run(ctx context.Context, args ...*Tensor) (*Tensor, error) {
	return f.state().run(ctx, args)
}

// RunAll is [Function.Run] for functions of any number of results, which it
// returns in order.
func (f Function) RunAll(ctx context.Context, args ...*Tensor) (Tensors, error) {
	return f.state().runAll(ctx, args)
}

// All is [Function.RunAll] for a cell: it panics with the error.
func (f Function) All(args ...*Tensor) Tensors {
	return cell(f.state().runAll(callContext(), args))
}

// Results is the number of tensors that the function returns.
func (f Function) Results() int { return len(f.state().src.Return) }

// Compile compiles f for inputs of the given shapes, or returns the program
// compiled before. Without shapes it takes those of the annotations. The error
// is a [*CallError] or the cause that ended ctx.
func (f Function) Compile(ctx context.Context, shapes ...Shape) (*Program, error) {
	return f.state().specialise(ctx, shapes)
}

// Specialize is [Function.Compile] for a cell: it panics with the error.
func (f Function) Specialize(shapes ...Shape) *Program {
	return cell(f.state().specialise(callContext(), shapes))
}

// Program is the program that was used last, or else the one for the shapes of
// the annotations. It panics with a [*CallError] when there is neither.
func (f Function) Program() *Program {
	s := f.state()
	if p := s.programs.recent(); p != nil {
		return p
	}
	return cell(s.specialise(callContext(), nil))
}

// Adopt makes a program that was compiled from the same definition the one that f used
// last, as if f had compiled it.
func (f Function) Adopt(p *Program) {
	s := f.state()
	var specs []Spec
	for _, in := range p.Inputs() {
		specs = append(specs, in.Spec)
	}
	s.programs.put(s.key(p.backend, specs), p)
}

// For is the program for arguments of the same shapes as args. It panics with
// the error of [Function.Compile].
func (f Function) For(args ...*Tensor) *Program {
	return cell(f.state().programFor(callContext(), args))
}

// IR is [Program.IR] of [Function.Program], as all the following methods are.
func (f Function) IR() display.Source { return f.Program().IR() }

// Graph is the optimised program as a drawing.
func (f Function) Graph() display.Graph { return f.Program().Graph() }

// Mermaid is the text of the drawing in Mermaid's language.
func (f Function) Mermaid() string { return f.Program().Mermaid() }

// Explain gathers what the compiler decided.
func (f Function) Explain() *Explanation { return f.Program().Explain() }

// Plan is where intermediate values stand in memory, and when.
func (f Function) Plan() *MemoryPlan { return f.Program().Plan() }

// Snapshots are the program as traced and after each pass.
func (f Function) Snapshots() Snapshots { return f.Program().Snapshots() }

// Summary is the program at a glance.
func (f Function) Summary() display.Table { return f.Program().Summary() }

// Check compares the result for args with float64; see [Program.Check].
// Without args it takes random ones for [Function.Program].
func (f Function) Check(args ...*Tensor) *Accuracy { return f.forOrProgram(args).Check(args...) }

// Bench times runs on args; see [Program.Bench]. Without args it takes random
// ones for [Function.Program].
func (f Function) Bench(args ...*Tensor) *Benchmark { return f.forOrProgram(args).Bench(args...) }

// Profile is [Program.Profile] of the program for the arguments, or of the one used last.
func (f Function) Profile(args ...*Tensor) *Profile { return f.forOrProgram(args).Profile(args...) }

// Roofline is [Program.Roofline] of the program for the arguments, or of the one used last.
func (f Function) Roofline(args ...*Tensor) chart.Figure {
	return f.forOrProgram(args).Roofline(args...)
}

// Tune finds the schedules of the kernels of [Function.Program]; see
// [Program.Tune].
func (f Function) Tune() *Tuning { return f.Program().Tune() }

func (f Function) forOrProgram(args []*Tensor) *Program {
	if len(args) == 0 {
		return f.Program()
	}
	return f.For(args...)
}

// Cache counts what calls have compiled and found compiled.
func (f Function) Cache() CacheStats { return f.state().programs.counts() }

// Display shows the source of the function.
func (f Function) Display() display.Bundle { return display.ToBundle(f.Source()) }

// cell gives a cell the value, or ends it with the error.
func cell[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// specialise compiles f for shapes, or for its annotations when shapes is nil.
func (f *function) specialise(ctx context.Context, shapes []Shape) (*Program, error) {
	if shapes != nil || len(f.src.Params) == 0 {
		specs := make([]Spec, len(shapes))
		for i, s := range shapes {
			specs[i] = ir.F32(s...)
		}
		return f.program(ctx, specs)
	}
	specs, ok := f.src.Specs()
	if !ok {
		return nil, f.callError(ctx, script.Errors{f.unannotated()}, nil)
	}
	return f.program(ctx, specs)
}

// unannotated describes a function whose shapes nobody has given.
func (f *function) unannotated() *display.Diagnostic {
	for _, p := range f.src.Params {
		if p.Type == nil {
			return f.src.Diagnose(p.Name.Span, "the shape of "+p.Name.Name+" is not known", "annotate it, as in "+p.Name.Name+": f32[8,16], or call "+f.src.Name.Name+" with tensors first")
		}
	}
	return nil
}

// key tells the programs of a function apart.
func (f *function) key(backend string, specs []Spec) string { return fmt.Sprint(backend, specs) }

// program returns the program for inputs of the given specs.
func (f *function) program(ctx context.Context, specs []Spec) (*Program, error) {
	if err := f.src.CheckInputs(specs); err != nil {
		return nil, f.callError(ctx, err, specs)
	}
	current := func(p *Program) bool { return p.calls.Current(f.scope()) }
	p, err := f.programs.get(ctx, f.key(f.backend, specs), current, func(ctx context.Context) (*Program, error) {
		return compile(ctx, f, specs)
	})
	if err != nil {
		return nil, f.callError(ctx, err, specs)
	}
	return p, nil
}

func (f *function) run(ctx context.Context, args []*Tensor) (*Tensor, error) {
	p, err := f.programFor(ctx, args)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, args...)
}

func (f *function) runAll(ctx context.Context, args []*Tensor) (Tensors, error) {
	p, err := f.programFor(ctx, args)
	if err != nil {
		return nil, err
	}
	return p.RunAll(ctx, args...)
}

func (f *function) programFor(ctx context.Context, args []*Tensor) (*Program, error) {
	specs, err := f.specs(args)
	if err != nil {
		return nil, err
	}
	return f.program(ctx, specs)
}

// specs are the types of the arguments.
func (f *function) specs(args []*Tensor) ([]Spec, error) {
	specs := make([]Spec, len(args))
	for i, a := range args {
		if a == nil {
			name := fmt.Sprint("argument ", i+1)
			if i < len(f.src.Params) {
				name = f.src.Params[i].Name.Name
			}
			return nil, &CallError{Function: f.src.Name.Name, Diagnostic: diagnostic(fmt.Sprintf("%s of %s is nil", name, f.src.Name.Name), "pass a tensor")}
		}
		specs[i] = ir.SpecOf(a)
	}
	return specs, nil
}
