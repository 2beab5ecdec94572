package wgsl_test

import (
	"context"
	"errors"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/backend/wgsl/webgpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// skipping skips a test at a program that the backend refuses, with the reason.
type skipping struct {
	*wgsl.Backend
	t *testing.T
}

func (s skipping) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	exe, err := s.Backend.Compile(ctx, g)
	if un := (*wgsl.Unsupported)(nil); errors.As(err, &un) {
		s.t.Skip(err)
	}
	return exe, err
}

// flushing is a device that takes numbers below the smallest normal one for 0, as WGSL
// permits.
type flushing struct{ skipping }

func (flushing) Flushes() bool { return true }

func conform(t *testing.T, make func(t *testing.T) backend.Backend) {
	for _, o := range op.Registry.All() {
		if o.Class == ir.Transfer {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			for _, d := range conformance.Types(o) {
				t.Run(d.String(), func(t *testing.T) { conformance.RunOperator(t, make(t), o, d) })
			}
		})
	}
}

// TestDawn runs the suite on the Dawn of Node.
func TestDawn(t *testing.T) {
	d, err := webgpu.Open(t.Context())
	if err != nil {
		t.Skip(err)
	}
	defer d.Close()
	conform(t, func(t *testing.T) backend.Backend { return flushing{skipping{&wgsl.Backend{Device: d}, t}} })
}
