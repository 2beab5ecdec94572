package forge

import (
	"context"
	"fmt"

	"forgekernel/display"
	"forgekernel/display/chart"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/capture"
)

// profileRuns is how often the kernels of a program run for its roofline.
const profileRuns = 30

// Roofline is [Program.RooflineContext] for a cell: it runs in the cell's context and
// panics with the error.
func (p *Program) Roofline(args ...*Tensor) chart.Figure {
	return cell(p.RooflineContext(callContext(), args...))
}

// RooflineContext measures every kernel of the program, and shows them under what the
// hardware does at most: on the processor one thread under the limits of one core, as
// [capture.MeasureLimits] finds them; on a GPU the picks of [Program.TuneOnDevice]
// under the rate of copies in its memory and of float32 by its clock. Without arguments
// it takes random ones.
func (p *Program) RooflineContext(ctx context.Context, args ...*Tensor) (chart.Figure, error) {
	if p.OnDevice() {
		return p.deviceRoofline(ctx)
	}
	args, err := p.orRandom(args)
	if err != nil {
		return chart.Figure{}, err
	}
	_, c, err := p.tunable()
	if err != nil {
		return chart.Figure{}, fmt.Errorf("a roofline needs kernels in machine code: %w", err)
	}
	meter := display.Progress(ctx, "measuring the kernels of "+p.Name(), 0)
	shares, err := c.Profile(ctx, p.graph(), profileRuns, args...)
	if err != nil {
		meter.Fail(err)
		return chart.Figure{}, err
	}
	limits := capture.MeasureLimits(ctx)
	meter.Done()
	if limits.Error != "" {
		return chart.Figure{}, fmt.Errorf("the limits of a core: %s", limits.Error)
	}
	var works []chart.Work
	for _, s := range shares {
		works = append(works, chart.Work{Name: s.Value + " " + s.Shape, FLOPs: float64(s.FLOPs), Bytes: float64(s.Bytes), Seconds: s.Time.Seconds()})
	}
	roof := chart.Roof{Name: "one core", FLOPs: limits.FLOPs, Bytes: limits.Bytes}
	return chart.Roofline("Kernels of "+p.Name()+" under the roof of one core", []chart.Roof{roof}, works), nil
}

// deviceRoofline is the roofline of a program on a GPU.
func (p *Program) deviceRoofline(ctx context.Context) (chart.Figure, error) {
	b, err := NewBackend(p.backend, p.threads)
	if err != nil {
		return chart.Figure{}, err
	}
	device := b.(*cuda.Backend).Context
	r, err := p.TuneOnDevice(ctx, TuneOptions{})
	if err != nil {
		return chart.Figure{}, err
	}
	rate, err := device.CopyRate(ctx)
	if err != nil {
		return chart.Figure{}, err
	}
	roof := chart.Roof{Name: device.Name + ", float32", FLOPs: device.FLOPs(), Bytes: rate}
	return chart.Roofline("Kernels of "+p.Name()+" under the roof of the device", []chart.Roof{roof}, r.Works()), nil
}
