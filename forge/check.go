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
	Program  string
	Backend  string
	Elements int
	MaxAbs   float64 // largest |result - reference| where both are finite
	MaxRel   float64 // largest |result - reference| / |reference| where both are finite and the reference is not 0
	Worst    []int   // index of the element farthest beyond its tolerance, or nearest to it
	Got      float64 // the result there
	Want     float64 // the reference there
	Failures int     // elements beyond the tolerance
	// Lost counts elements that are not finite although the reference is; a
	// program that loses any is numerically unstable on these inputs.
	Lost int
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
		return nil, p.fn.callError(err, p.specs)
	}
	want, err := reference.Run(ctx, args...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, p.fn.callError(err, p.specs)
	}
	a := compare(got, want[0])
	a.Program, a.Backend = p.Name(), p.backend
	return a, nil
}

// orRandom replaces no arguments by random ones.
func (p *Program) orRandom(args []*Tensor) ([]*Tensor, error) {
	if len(args) > 0 {
		return args, nil
	}
	return p.RandomInputs(DefaultSeed)
}

// compare measures got against want, element by element.
func compare(got, want *Tensor) *Accuracy {
	a := &Accuracy{Elements: got.Len()}
	worst := math.Inf(-1)
	for i := range got.Len() {
		x, y := got.Elem(i), want.Elem(i)
		excess := a.element(x, y)
		if excess > 0 {
			a.Failures++
		}
		if excess > worst {
			worst, a.Got, a.Want, a.Worst = excess, x, y, unravel(i, got.Shape())
		}
	}
	return a
}

// element adds one pair and returns by how much it exceeds the tolerance.
func (a *Accuracy) element(x, y float64) float64 {
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	switch {
	case x == y || math.IsNaN(x) && math.IsNaN(y):
		return -CheckAbs
	case !finite(x) && finite(y):
		a.Lost++
		// Beyond the range of float32 an infinity is the correctly rounded
		// result.
		if math.IsInf(float64(float32(y)), 0) {
			return 0
		}
		return math.Inf(1)
	case !finite(x) || !finite(y):
		return math.Inf(1)
	}
	d := math.Abs(x - y)
	a.MaxAbs = max(a.MaxAbs, d)
	if y != 0 {
		a.MaxRel = max(a.MaxRel, d/math.Abs(y))
	}
	return d - (CheckAbs + CheckRel*math.Abs(y))
}

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
			{"worst element", fmt.Sprintf("%s: %.9g, reference %.17g", tensor.FormatShape(a.Worst), a.Got, a.Want)},
		},
	}
	if a.Lost > 0 {
		t.Rows = append(t.Rows, []any{"not finite", fmt.Sprintf("%d elements whose reference is finite: the program overflows on these inputs", a.Lost)})
	}
	return display.ToBundle(t)
}
