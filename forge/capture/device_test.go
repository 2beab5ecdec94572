package capture

import (
	"context"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// timedDevice is the host as a device whose clock shows a microsecond for each run.
type timedDevice struct{ backend.Resident }

func (timedDevice) Name() string { return "device" }

func (d timedDevice) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	exe, err := d.Resident.Compile(ctx, g)
	if err != nil {
		return nil, err
	}
	return timedProgram{exe.(backend.Bindable)}, nil
}

type timedProgram struct{ backend.Bindable }

func (p timedProgram) Bind(ctx context.Context, inputs, outputs []backend.Held) (backend.Bound, error) {
	b, err := p.Bindable.Bind(ctx, inputs, outputs)
	return timedBound{b}, err
}

type timedBound struct{ backend.Bound }

func (b timedBound) Time(ctx context.Context, outputs, inputs []*tensor.Tensor) (time.Duration, error) {
	return time.Microsecond, b.Run(ctx, outputs, inputs)
}

// TestOnDevice measures a program whose tensors stay on a device: the capture has the
// times of the device beside those of the host, and is verified with both.
func TestOnDevice(t *testing.T) {
	s := subject(t, "mlp_8_64_128")
	m := New(Settings{Samples: 3, Warmup: 1, Seed: 1, MinSample: time.Microsecond})
	c, err := m.Measure(t.Context(), []*Subject{s}, []Candidate{
		OnBackend(interp.New(), Optimised, 1), OnDevice(timedDevice{conformance.OnHost(interp.New())}, Optimised, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	series := c.Workloads[0].Series
	if series[0].Device != nil || len(series[1].Device) != 3 || series[1].Device[0] != 1e-6 {
		t.Errorf("the device's times are %v and %v", series[0].Device, series[1].Device)
	}
	r, err := NewReport(c, true)
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Text(); !strings.Contains(text, "on the device") || !strings.Contains(text, "1.000 µs") {
		t.Errorf("the report lacks the device's time:\n%s", text)
	}
	for name, spoil := range map[string]func(s *Series){
		"too few":  func(s *Series) { s.Device = s.Device[:1] },
		"negative": func(s *Series) { s.Device[1] = -1 },
	} {
		broken := series[1]
		broken.Device = append([]float64{}, series[1].Device...)
		spoil(&broken)
		if err := broken.verify(3, s.Written); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
