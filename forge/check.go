package forge

import (
	"context"
	"fmt"
	"math"

	"forgekernel/display"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/tensor"
)

// Tolerances of [Accuracy.OK]: an element passes when its error is at most
// CheckAbs + CheckRel*|reference|.
const (
	CheckRel = 1e-4
	CheckAbs = 1e-5
)

// Accuracy compares a result with the float64 reference of the program as it
// was written, before any pass.
type Accuracy struct {
	Program  string `json:"program"`
	Backend  string `json:"backend"`
	Elements int    `json:"elements"`
	tensor.Diff
	Failures int `json:"failures"` // elements beyond the tolerance
	// Lost counts elements that are not finite although float32 could hold the
	// reference; a program that loses any is unstable on these inputs.
	Lost int `json:"lost"`

	got, want *Tensor
}

// OK reports whether every element is within the tolerance.
func (a *Accuracy) OK() bool { return a.Failures == 0 }

// Check is [Program.CheckContext] for a cell: it runs in the cell's context
// and panics with the error.
func (p *Program) Check(args ...*Tensor) *Accuracy {
	return cell(p.CheckContext(callContext(), args...))
}

// CheckContext runs the program and the float64 reference on the same inputs
// and compares the results. Without arguments it takes random ones.
func (p *Program) CheckContext(ctx context.Context, args ...*Tensor) (*Accuracy, error) {
	args, err := p.orRandom(args)
	if err != nil {
		return nil, err
	}
	meter := display.Progress(ctx, "checking "+p.Name()+" against float64", 2)
	a, err := p.check(ctx, args, meter)
	if err != nil {
		meter.Fail(err)
		return nil, err
	}
	meter.Done()
	return a, nil
}

func (p *Program) check(ctx context.Context, args []*Tensor, meter *display.Meter) (*Accuracy, error) {
	got, err := p.run(ctx, args)
	if err != nil {
		return nil, err
	}
	meter.Add(1)
	reference, err := interp.Reference().Compile(ctx, p.traced.Graph)
	if err != nil {
		return nil, p.fn.callError(ctx, err, p.specs)
	}
	want, err := reference.Run(ctx, args...)
	if err != nil {
		return nil, p.fn.callError(ctx, err, p.specs)
	}
	a := &Accuracy{Program: p.Name(), Backend: p.backend, Elements: got.Len(), got: got, want: want[0]}
	if a.Diff, err = tensor.Compare(got, want[0]); err != nil {
		return nil, p.fn.callError(ctx, err, p.specs)
	}
	a.count()
	return a, nil
}

// orRandom replaces no arguments by random ones.
func (p *Program) orRandom(args []*Tensor) ([]*Tensor, error) {
	if len(args) > 0 {
		return args, nil
	}
	return p.RandomInputs(DefaultSeed)
}

// count fills Failures and Lost.
func (a *Accuracy) count() {
	for i := range a.Elements {
		x, y := a.got.Elem(i), a.want.Elem(i)
		narrow := float64(float32(y))
		switch {
		case x == narrow || math.IsNaN(x) && math.IsNaN(y):
		case !isFinite(x) && isFinite(narrow):
			a.Lost++
			a.Failures++
		case !(math.Abs(x-y) <= CheckAbs+CheckRel*math.Abs(y)):
			a.Failures++
		}
	}
}

func isFinite(v float64) bool { return v-v == 0 }

// unravel turns an element number into an index.
func unravel(i int, shape []int) []int {
	index := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		index[d] = i % shape[d]
		i /= shape[d]
	}
	return index
}

// Display shows the comparison as a table.
func (a *Accuracy) Display() display.Bundle {
	verdict := fmt.Sprintf("all %d elements are within the tolerance", a.Elements)
	if !a.OK() {
		verdict = fmt.Sprintf("%d of %d elements are beyond the tolerance", a.Failures, a.Elements)
	}
	t := display.Table{
		Title:   fmt.Sprintf("%s on %s against the float64 reference", a.Program, a.Backend),
		Columns: []display.Column{{Name: "measure"}, {Name: "value", Align: display.AlignLeft}},
		Rows: [][]any{
			{"verdict", verdict},
			{"tolerance", fmt.Sprintf("%g + %g·|reference|", CheckAbs, CheckRel)},
			{"largest absolute error", fmt.Sprintf("%.3g", a.MaxAbs)},
			{"largest relative error", fmt.Sprintf("%.3g", a.MaxRel)},
			{"largest error in float32 steps", fmt.Sprintf("%.3g ULP", a.MaxULP)},
			{"element with the largest error", fmt.Sprintf("%s: %.9g, reference %.17g", tensor.FormatShape(unravel(a.Index, a.got.Shape())), a.got.Elem(a.Index), a.want.Elem(a.Index))},
		},
	}
	if a.Lost > 0 {
		t.Rows = append(t.Rows, []any{"not finite", fmt.Sprintf("%d elements whose reference is finite: the program overflows on these inputs", a.Lost)})
	}
	return display.ToBundle(t)
}
