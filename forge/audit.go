package forge

import (
	"context"

	"forgekernel/display"
	"forgekernel/forge/audit"
	"forgekernel/forge/tensor"
)

// Audit tells node by node where a program loses accuracy.
type Audit = audit.Report

// Audit is [Program.AuditContext] with the default budget for a cell: it runs in
// the cell's context and panics with the error.
func (p *Program) Audit(args ...*Tensor) *Audit {
	return cell(p.AuditContext(callContext(), audit.DefaultBudget, args...))
}

// AuditContext compares every value of the program, as it was written, with
// float64. A node whose error, relative to the largest element of its result,
// exceeds the budget is reported. Without arguments it takes random ones.
func (p *Program) AuditContext(ctx context.Context, budget float64, args ...*Tensor) (*Audit, error) {
	args, err := p.orRandom(args)
	if err != nil {
		return nil, err
	}
	specs, err := p.origin.specs(args)
	if err != nil {
		return nil, err
	}
	meter := display.Progress(ctx, "auditing "+p.Name(), 0)
	r, err := audit.Numerics(ctx, p.traced, args, audit.Options{Budget: budget})
	if err != nil {
		meter.Fail(err)
		return nil, p.origin.callError(ctx, err, specs)
	}
	meter.Done()
	return r, nil
}

// ScaledInputs are [Program.RandomInputs] with every floating-point element
// times scale: what is stable for ordinary numbers may not be for large ones.
func (p *Program) ScaledInputs(seed uint64, scale float64) ([]*Tensor, error) {
	inputs, err := p.RandomInputs(seed)
	if err != nil {
		return nil, err
	}
	for _, t := range inputs {
		if t.DType().IsFloat() && scale != 1 {
			scaleElements(t, scale)
		}
	}
	return inputs, nil
}

func scaleElements(t *tensor.Tensor, scale float64) {
	for i := range t.Len() {
		t.SetElem(i, scale*t.Elem(i))
	}
}

// Audit tells where the result for args loses accuracy; see [Program.Audit].
// Without args it takes random ones for [Function.Program].
func (f Function) Audit(args ...*Tensor) *Audit { return f.forOrProgram(args).Audit(args...) }
