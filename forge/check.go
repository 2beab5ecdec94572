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

// Accuracy compares the results with the float64 reference of the program as it
// was written, before any pass. Counts are over all results; the embedded Diff
// is that of the result named Output, which is farthest from its reference.
type Accuracy struct {
	Program  string `json:"program"`
	Backend  string `json:"backend"`
	Output   string `json:"output"`
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
	reference, err := interp.Reference().Compile(ctx, p.traced)
	if err != nil {
		return nil, p.origin.callError(ctx, err, p.specs())
	}
	want, err := reference.Run(ctx, args...)
	if err != nil {
		return nil, p.origin.callError(ctx, err, p.specs())
	}
	a := &Accuracy{Program: p.Name(), Backend: p.backend}
	for i, out := range p.Outputs() {
		if err := a.add(out.Name, got[i], want[i]); err != nil {
			return nil, p.origin.callError(ctx, err, p.specs())
		}
	}
	return a, nil
}

// add compares one more result.
func (a *Accuracy) add(name string, got, want *Tensor) error {
	d, err := tensor.Compare(got, want)
	if err != nil {
		return err
	}
	if a.got == nil || d.MaxAbs > a.MaxAbs || math.IsNaN(d.MaxAbs) {
		a.Output, a.Diff, a.got, a.want = name, d, got, want
	}
	a.Elements += got.Len()
	a.count(got, want)
	return nil
}

// orRandom replaces no arguments by random ones.
func (p *Program) orRandom(args []*Tensor) ([]*Tensor, error) {
	if len(args) > 0 {
		return args, nil
	}
	return p.RandomInputs(DefaultSeed)
}

// count adds to Failures and Lost.
func (a *Accuracy) count(got, want *Tensor) {
	for i := range got.Len() {
		x, y := got.Elem(i), want.Elem(i)
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
	verdict := "all " + elements(a.Elements) + " within the tolerance"
	if !a.OK() {
		verdict = fmt.Sprintf("%d of %s beyond the tolerance", a.Failures, elements(a.Elements))
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
			{"element with the largest error", fmt.Sprintf("%%%s%s: %.9g, reference %.17g", a.Output, tensor.FormatShape(unravel(a.Index, a.got.Shape())), a.got.Elem(a.Index), a.want.Elem(a.Index))},
		},
	}
	if a.Lost > 0 {
		t.Rows = append(t.Rows, []any{"not finite", elements(a.Lost) + " whose reference is finite: the program overflows on these inputs"})
	}
	return display.ToBundle(t)
}

func elements(n int) string {
	if n == 1 {
		return "1 element"
	}
	return fmt.Sprintf("%d elements", n)
}
