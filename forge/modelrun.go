package forge

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Result is a tensor with its name.
type Result = tensor.Named

// Results are the results of a model, in its order.
type Results []Result

// Get is the result of that name. It panics with a [*CallError] when there is none.
func (r Results) Get(name string) *Tensor {
	names := make([]string, len(r))
	for i, y := range r {
		if names[i] = y.Name; y.Name == name {
			return y.Tensor
		}
	}
	panic(&CallError{Function: "Get", Diagnostic: diagnostic(fmt.Sprintf("there is no result %q", name), "there are "+strings.Join(names, ", "))})
}

// Display shows the results under one another.
func (r Results) Display() display.Bundle {
	texts := make([]string, len(r))
	for i, y := range r {
		text, _ := display.ToBundle(y.Tensor).Data["text/plain"].(string)
		texts[i] = y.Name + " = " + text
	}
	return display.Text(strings.Join(texts, "\n"))
}

// Run compiles the model for the shapes of its inputs, and for the values of those
// that act as attributes, unless that has happened before, and runs it. A tensor of
// another element type than the file says is converted when every element stays
// what it is, and refused otherwise. The error is a [*CallError] or the cause that
// ended ctx.
func (m *Model) Run(ctx context.Context, inputs map[string]*Tensor) (Results, error) {
	values, err := m.check(inputs)
	if err != nil {
		return nil, err
	}
	outs, err := m.run(ctx, values)
	if err != nil {
		return nil, err
	}
	results := make(Results, len(outs))
	for i, name := range m.Outputs() {
		results[i] = Result{Name: name, Tensor: outs[i]}
	}
	return results, nil
}

// run runs inputs in the program of their bucket, or in one for their shapes.
func (m *Model) run(ctx context.Context, values map[string]*Tensor) ([]*Tensor, error) {
	var b *bucket
	if f, ok := m.file.(*importedFile); ok {
		b = f.bucketFor(ctx, values)
	}
	values, err := b.filled(values)
	if err != nil {
		return nil, err
	}
	p, err := m.Compile(ctx, Binding{Values: values})
	if err != nil {
		return nil, err
	}
	args, err := p.Arguments(values)
	if err != nil {
		return nil, err
	}
	outs, err := p.RunAll(ctx, args...)
	if err != nil {
		return nil, err
	}
	return b.cut(outs)
}

// Call is [Model.Run] for a cell: it panics with the error.
func (m *Model) Call(inputs map[string]*Tensor) Results { return cell(m.Run(callContext(), inputs)) }

// check compares inputs with what the file declares and converts them.
func (m *Model) check(inputs map[string]*Tensor) (map[string]*Tensor, error) {
	declared := m.Inputs()
	for _, name := range sortedKeys(inputs) {
		if !slices.ContainsFunc(declared, func(in ModelInput) bool { return in.Name == name }) {
			return nil, m.mismatch(name, "no input of this name", inputs[name])
		}
	}
	values := make(map[string]*Tensor, len(inputs))
	for _, in := range declared {
		t := inputs[in.Name]
		if t == nil || !fits(in, t.Shape()) {
			return nil, m.mismatch(in.Name, specText(in), t)
		}
		var err error
		if values[in.Name], err = lossless(t, in.DType); err != nil {
			e := m.mismatch(in.Name, specText(in), t)
			e.Hint = err.Error()
			return nil, e
		}
	}
	return values, nil
}

// specText is the declaration of an input without its name.
func specText(in ModelInput) string { return strings.TrimPrefix(in.String(), in.Name+": ") }

// mismatch is the error of an input that is not as the file says.
func (m *Model) mismatch(name, expected string, got *Tensor) *CallError {
	given := "nothing"
	if got != nil {
		given = ir.SpecOf(got).String()
	}
	var list []string
	for _, in := range m.Inputs() {
		list = append(list, in.String())
	}
	return &CallError{Function: m.Name(), Diagnostic: diagnostic(
		fmt.Sprintf("input %s of %s: expected %s, got %s", name, m.Name(), expected, given), "its inputs are "+strings.Join(list, ", "))}
}

// fits reports whether a shape has the rank and the fixed lengths of an input.
func fits(in ModelInput, shape []int) bool {
	if !in.Ranked {
		return true
	}
	if len(shape) != len(in.Dims) {
		return false
	}
	for i, d := range in.Dims {
		if d.Fixed && d.Size != shape[i] {
			return false
		}
	}
	return true
}

// lossless converts a tensor if every element stays what it is.
func lossless(t *Tensor, to tensor.DType) (*Tensor, error) {
	if t.DType() == to {
		return t, nil
	}
	out, err := t.Convert(to)
	if err != nil {
		return nil, err
	}
	back, err := out.Convert(t.DType())
	if err != nil {
		return nil, err
	}
	for i := range t.Len() {
		if x, y := t.Elem(i), back.Elem(i); x != y && !(math.IsNaN(x) && math.IsNaN(y)) || !sameInteger(t, back, i) {
			return nil, fmt.Errorf("element %d is %v, which %v cannot hold", i, t.Elem(i), to)
		}
	}
	return out, nil
}

// sameInteger compares elements that a float64 may not tell apart.
func sameInteger(a, b *Tensor, i int) bool {
	return a.DType() != tensor.I64 || a.Int64()[i] == b.Int64()[i]
}

// Arguments puts tensors that are given by the names of the model in the order of
// the program and converts them as [Model.Run] does. Tensors for inputs that are a
// part of the program must be what it was compiled for.
func (p *Program) Arguments(named map[string]*Tensor) ([]*Tensor, error) {
	names := p.InputNames()
	args := make([]*Tensor, len(names))
	for i, v := range p.traced.Inputs {
		t := named[names[i]]
		if t == nil {
			return nil, p.refuse(names[i], v.Spec.String(), "nothing", "")
		}
		converted, err := lossless(t, v.Spec.DType)
		if err != nil || !tensor.ShapeEqual(t.Shape(), v.Spec.Shape) {
			hint := ""
			if err != nil {
				hint = err.Error()
			}
			return nil, p.refuse(names[i], v.Spec.String(), ir.SpecOf(t).String(), hint)
		}
		args[i] = converted
	}
	return args, p.checkOthers(named, names)
}

// checkOthers refuses tensors that are no arguments.
func (p *Program) checkOthers(named map[string]*Tensor, names []string) error {
	bound := p.Bound()
	for _, name := range sortedKeys(named) {
		if slices.Contains(names, name) {
			continue
		}
		i := slices.IndexFunc(bound, func(b Bound) bool { return b.Input == name })
		if i < 0 {
			return p.refuse(name, "no input of this name", ir.SpecOf(named[name]).String(), "its inputs are "+strings.Join(names, ", "))
		}
		if t, err := lossless(named[name], bound[i].Value.DType()); err != nil || !tensor.Identical(t, bound[i].Value) {
			return p.refuse(name, "the value that the program was compiled for, "+brief(bound[i].Value), brief(named[name]), "compile the model for this value")
		}
	}
	return nil
}

func (p *Program) refuse(input, expected, got, hint string) error {
	return &CallError{Function: p.Name(), Diagnostic: diagnostic(fmt.Sprintf("input %s of %s: expected %s, got %s", input, p.Name(), expected, got), hint)}
}

// InputNames are the parameters by the names of the file that the program was made
// from.
func (p *Program) InputNames() []string {
	if o, ok := p.origin.(modelOrigin); ok {
		return o.program.Inputs
	}
	return valueNames(p.traced.Inputs)
}

// OutputNames are the results likewise.
func (p *Program) OutputNames() []string {
	if o, ok := p.origin.(modelOrigin); ok {
		return o.program.Outputs
	}
	return valueNames(p.graph().Outputs)
}

func valueNames(values []*ir.Value) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.Name
	}
	return names
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
