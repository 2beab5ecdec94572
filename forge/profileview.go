package forge

import (
	"context"
	"fmt"
	"slices"
	"time"

	"forgekernel/display"
	"forgekernel/display/chart"
	"forgekernel/forge/backend"
)

// Whole is the sum over all nodes.
func (r *Profile) Whole() time.Duration {
	var sum time.Duration
	for _, n := range r.Nodes {
		sum += n.Time
	}
	return sum
}

// Table lists the nodes with their rates. The last columns are the least time that the
// limits allow, as a share of the time that the node took, and which limit that is: that
// of arithmetic, or of the nearest memory that holds all operands and results. A share
// above 100 % is noise, or of a level that is not measured: see [chart.Roof.Over].
func (r *Profile) Table() display.Table { return r.table(r.Nodes) }

func (r *Profile) table(nodes []ProfiledNode) display.Table {
	t := display.Table{
		Title: fmt.Sprintf("%s on %s, medians of %d runs; the roof is %s", r.Program, r.Backend, r.Runs, r.Limits),
		Columns: []display.Column{
			{Name: "value"}, {Name: "operator"}, {Name: "kernel"}, {Name: "time", Unit: "µs"}, {Name: "share", Unit: "%"},
			{Name: "rate", Unit: "GFLOP/s"}, {Name: "moved", Unit: "GB/s"}, {Name: "of the roof", Unit: "%"}, {Name: "which is"},
		},
	}
	whole := r.Whole().Seconds()
	for _, n := range nodes {
		row := []any{n.Value, n.Op, n.Kernel, n.Time.Seconds() * 1e6, nil, nil, nil, nil, n.By}
		if s := n.Time.Seconds(); s > 0 {
			row[4], row[5], row[6] = 100*s/whole, float64(n.FLOPs)/s/1e9, float64(n.Bytes)/s/1e9
			if n.Least > 0 {
				row[7] = 100 * n.Least.Seconds() / s
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Roofline shows the nodes that do arithmetic under what the machine does at most.
func (r *Profile) Roofline() chart.Figure {
	var works []chart.Work
	for _, n := range r.Nodes {
		works = append(works, chart.Work{Name: n.Value, Series: n.Op, FLOPs: float64(n.FLOPs), Bytes: float64(n.Bytes), Seconds: n.Time.Seconds(), Roof: n.roof})
	}
	return chart.Roofline("The nodes of "+r.Program+" under the limits of the machine", r.roof.rates, works)
}

// Roofline is [Program.RooflineContext] for a cell: it runs in the cell's context and
// panics with the error.
func (p *Program) Roofline(args ...*Tensor) chart.Figure {
	return cell(p.RooflineContext(callContext(), args...))
}

// RooflineContext is the roofline of a profile of the program.
func (p *Program) RooflineContext(ctx context.Context, args ...*Tensor) (chart.Figure, error) {
	r, err := p.ProfileContext(ctx, args...)
	if err != nil {
		return chart.Figure{}, err
	}
	return r.Roofline(), nil
}

// Display is the table.
func (r *Profile) Display() display.Bundle { return r.Table().Display() }

// Source is the source of the kernels of one value beside its time.
func (r *Profile) Source(value string) (*ProfiledSource, error) {
	i := slices.IndexFunc(r.Nodes, func(n ProfiledNode) bool { return n.Value == value })
	if i < 0 {
		return nil, fmt.Errorf("%s has no node %s that was timed", r.Program, value)
	}
	sourced, is := r.exe.(backend.Sourced)
	if !is {
		return nil, fmt.Errorf("the kernels of backend %s are parts of this program, and have no source of their own", r.Backend)
	}
	of, err := (&KernelSource{Listing: sourced.Listing(), graph: r.exe.Graph()}).Of(value)
	if err != nil {
		return nil, err
	}
	return &ProfiledSource{of, r.table(r.Nodes[i : i+1])}, nil
}

// ProfiledSource is the source of kernels with their time over it.
type ProfiledSource struct {
	*KernelSource
	Time display.Table
}

// Display shows the time, and the source.
func (s *ProfiledSource) Display() display.Bundle {
	source, time := s.KernelSource.Display(), s.Time.Display()
	for mime, text := range source.Data {
		if over, is := time.Data[mime].(string); is {
			source.Data[mime] = over + "\n" + text.(string)
		}
	}
	return source
}
