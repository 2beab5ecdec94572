package wgsl_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/backend/wgsl/webgpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// refusing has the interpreter run what the backend refuses, so that the suite goes on to the
// next program, and keeps the reasons.
type refusing struct {
	*wgsl.Backend
	refused map[string]int
}

func (r refusing) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	exe, err := r.Backend.Compile(ctx, g)
	un := (*wgsl.Unsupported)(nil)
	if !errors.As(err, &un) {
		return exe, err
	}
	for _, why := range un.Reasons {
		_, why, _ = strings.Cut(why, ": ")
		r.refused[why]++
	}
	return interp.New().Compile(ctx, g)
}

// flushing is a device that takes numbers below the smallest normal one for 0, as WGSL
// permits.
type flushing struct{ refusing }

func (flushing) Flushes() bool { return true }

// conform runs the suite. Programs are refused for a type that WGSL does not have, and
// for nothing else.
func conform(t *testing.T, d wgsl.Device, flushes bool, types ...tensor.DType) {
	for _, o := range op.Registry.All() {
		if o.Class == ir.Transfer {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			for _, dtype := range conformance.Types(o) {
				if len(types) > 0 && !slices.Contains(types, dtype) {
					continue
				}
				t.Run(dtype.String(), func(t *testing.T) {
					r := refusing{&wgsl.Backend{Device: d}, make(map[string]int)}
					var b backend.Backend = r
					if flushes {
						b = flushing{r}
					}
					conformance.RunOperator(t, b, o, dtype)
					for why, n := range r.refused {
						t.Logf("%d programs are refused, and say so: %s", n, why)
						if !strings.HasSuffix(why, "WGSL has no f64") {
							t.Errorf("%d programs are refused: %s", n, why)
						}
					}
				})
			}
		})
	}
}

// TestSimulation runs the suite in simulation, without and with arithmetic in f16.
func TestSimulation(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector this takes minutes; TestContract has what runs at the same time")
	}
	conform(t, wgsl.NewSimulator(), false)
}

func TestSimulationF16(t *testing.T) {
	if testing.Short() {
		t.Skip("as TestSimulation")
	}
	s := wgsl.NewSimulator()
	s.F16 = true
	conform(t, s, false, tensor.F16)
}

// TestReals runs the suite where the compiler takes floats for real numbers, as that of
// NVIDIA's driver does.
func TestReals(t *testing.T) {
	if testing.Short() {
		t.Skip("as TestSimulation")
	}
	s := wgsl.NewSimulator()
	s.Reals = true
	conform(t, s, true, tensor.F32)
}

// dawn is the Dawn of Node, or the test is skipped where there is none: one that is there
// and does not start is a failure.
func dawn(t *testing.T) *webgpu.Device {
	t.Helper()
	d, err := webgpu.Open(t.Context())
	if missing := (*webgpu.Missing)(nil); errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDawn runs the modules of the suite on the Dawn of Node: those of f32, and with
// FORGE_CONFORMANCE=full all. A program whose modules have all run there is left to the
// simulation.
func TestDawn(t *testing.T) {
	if testing.Short() {
		t.Skip("compiling thousands of modules takes minutes")
	}
	d := dawn(t)
	defer d.Close()
	types := []tensor.DType{tensor.F32, tensor.Bool}
	if os.Getenv("FORGE_CONFORMANCE") == "full" {
		types = nil
	}
	conform(t, &once{Device: d, simulation: wgsl.NewSimulator(), ran: make(map[string]bool)}, true, types...)
}

// once is a device for modules that have not run on it, by their sources.
type once struct {
	wgsl.Device
	simulation *wgsl.Simulator
	ran        map[string]bool
	latest     *wgsl.Plan // what runs now, on several inputs
}

func (o *once) Run(ctx context.Context, p *wgsl.Plan, m wgsl.Memory) error {
	if o.latest != p && !slices.ContainsFunc(p.Modules, func(m wgsl.Module) bool { return !o.ran[m.Source] }) {
		return o.simulation.Run(ctx, p, m)
	}
	o.latest = p
	for _, m := range p.Modules {
		o.ran[m.Source] = true
	}
	return o.Device.Run(ctx, p, m)
}
