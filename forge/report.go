package forge

import (
	"context"
	"encoding/json"

	"gonum.org/v1/gonum/stat"

	"forgekernel/forge/pass"
	"forgekernel/forge/tensor"
)

// ReportVersion is the version of [Report]'s JSON form. A field may be added
// within a version; a change of meaning makes a new one.
const ReportVersion = 2

// MaxReportValues is the number of elements of a result that a report holds;
// of a larger one it holds the first.
const MaxReportValues = 1024

// Report is what forge compile and forge run say about a program, in a form
// for programs.
type Report struct {
	Version   int              `json:"version"`
	Program   string           `json:"program"`
	Source    string           `json:"source"` // name of the source
	Backend   string           `json:"backend"`
	Notes     []string         `json:"notes,omitempty"` // what a reader of the program should know
	Inputs    []ReportValue    `json:"inputs"`
	Outputs   []ReportValue    `json:"outputs"`
	Snapshots []ReportSnapshot `json:"snapshots"`
	Rewrites  []pass.Rewrite   `json:"rewrites"`
	// Run is set once the program has run.
	Run *ReportRun `json:"run,omitempty"`
}

// ReportValue is the type of an input or of a result.
type ReportValue struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// ReportSnapshot is the program after a pass.
type ReportSnapshot struct {
	Pass    string          `json:"pass"`
	Summary pass.Summary    `json:"summary"`
	IR      string          `json:"ir"`
	Graph   json.RawMessage `json:"graph"` // without the elements of constants
}

// ReportRun describes a run.
type ReportRun struct {
	Seed    *uint64        `json:"seed,omitempty"` // of the inputs, when they were generated
	Results []ReportResult `json:"results"`        // in order of the outputs
}

// ReportResult describes one result of a run.
type ReportResult struct {
	Name      string `json:"name"`
	Elements  int    `json:"elements"`
	NotFinite int    `json:"not_finite"`
	// Min, Max, Mean and StdDev are over the finite elements; absent when there
	// are none.
	Min    *float64 `json:"min,omitempty"`
	Max    *float64 `json:"max,omitempty"`
	Mean   *float64 `json:"mean,omitempty"`
	StdDev *float64 `json:"std_dev,omitempty"`
	// Values are the elements in row-major order, the first [MaxReportValues].
	Values    []tensor.Number `json:"values"`
	Truncated bool            `json:"truncated"`
}

// Report describes the program.
func (p *Program) Report() (*Report, error) {
	r := &Report{
		Version:  ReportVersion,
		Program:  p.Name(),
		Source:   p.Source().Name,
		Backend:  p.backend,
		Notes:    p.Notes(),
		Inputs:   reportValues(p.InputNames(), p.Inputs()),
		Outputs:  reportValues(p.OutputNames(), p.Outputs()),
		Rewrites: append([]pass.Rewrite{}, p.passes.Rewrites...),
	}
	for _, s := range p.passes.Snapshots {
		graph, err := s.JSON()
		if err != nil {
			return nil, err
		}
		r.Snapshots = append(r.Snapshots, ReportSnapshot{Pass: s.Pass, Summary: s.Summary, IR: s.Graph.Listing(), Graph: graph})
	}
	return r, nil
}

func reportValues(names []string, values []Typed) []ReportValue {
	list := make([]ReportValue, len(values))
	for i, v := range values {
		list[i] = ReportValue{Name: names[i], DType: v.Spec.DType.String(), Shape: append([]int{}, v.Spec.Shape...)}
	}
	return list
}

// RunSeeded runs the program on [Program.RandomInputs] of the seed, and
// returns the report and the results.
func (p *Program) RunSeeded(ctx context.Context, seed uint64) (*Report, []*Tensor, error) {
	args, err := p.RandomInputs(seed)
	if err != nil {
		return nil, nil, err
	}
	r, outs, err := p.RunReport(ctx, args...)
	if err != nil {
		return nil, nil, err
	}
	r.Run.Seed = &seed
	return r, outs, nil
}

// RunReport runs the program on the arguments, and returns the report and the
// results.
func (p *Program) RunReport(ctx context.Context, args ...*Tensor) (*Report, []*Tensor, error) {
	outs, err := p.RunAll(ctx, args...)
	if err != nil {
		return nil, nil, err
	}
	r, err := p.Report()
	if err != nil {
		return nil, nil, err
	}
	r.Run = &ReportRun{}
	for i, y := range outs {
		r.Run.Results = append(r.Run.Results, reportResult(r.Outputs[i].Name, y))
	}
	return r, outs, nil
}

func reportResult(name string, y *Tensor) ReportResult {
	r := ReportResult{Name: name, Elements: y.Len(), Values: []tensor.Number{}, Truncated: y.Len() > MaxReportValues}
	var finite []float64
	for i := range y.Len() {
		v := y.Elem(i)
		if i < MaxReportValues {
			r.Values = append(r.Values, tensor.Number(v))
		}
		if isFinite(v) {
			finite = append(finite, v)
		}
	}
	r.NotFinite = r.Elements - len(finite)
	if len(finite) == 0 {
		return r
	}
	low, high := finite[0], finite[0]
	for _, v := range finite {
		low, high = min(low, v), max(high, v)
	}
	mean, dev := stat.PopMeanStdDev(finite, nil)
	r.Min, r.Max, r.Mean, r.StdDev = &low, &high, &mean, &dev
	return r
}
