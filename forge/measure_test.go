package forge_test

import (
	"strings"
	"testing"
	"time"

	"forgekernel/forge"
)

const measured = `
def norm(x: f32[8, 16]):
    d = x - x.mean(axis=-1, keepdims=True)
    return d * rsqrt((d * d).mean(axis=-1, keepdims=True) + 0.00001)

def wide(x: f32[64, 64]):
    return relu(x) + 1
`

func TestMeasure(t *testing.T) {
	norm, err := forge.Compile(measured, forge.Entry("norm"))
	if err != nil {
		t.Fatal(err)
	}
	wide, err := forge.Compile(measured)
	if err != nil {
		t.Fatal(err)
	}
	options := forge.BenchOptions{Samples: 7, Blocks: 6, Spread: time.Millisecond, Backends: []string{"interp", "portable"}}
	r, err := forge.MeasureContext(t.Context(), options, norm, wide)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Capture()
	if c.Settings.Samples != 12 || c.Settings.Blocks != 6 || len(c.Workloads) != 2 {
		t.Errorf("%+v of %d programs", c.Settings, len(c.Workloads))
	}
	for _, w := range c.Workloads {
		if len(w.Series) != 4 || w.Series[0].Backend != "interp" || w.Series[3].Backend != "portable" {
			t.Errorf("%s has %d series", w.Name, len(w.Series))
		}
	}
	sides, err := r.Compare("interp:written", "portable:optimised")
	if err != nil || len(sides.Rows) != 2 || sides.Rows[1].Workload != "wide" {
		t.Errorf("%+v, %v", sides, err)
	}
	if _, err := r.Compare("interp:fast", "portable"); err == nil {
		t.Error("a variant that there is not was compared")
	}
	for want, f := range map[string]func() error{
		"no program to measure": func() error { _, err := forge.MeasureContext(t.Context(), options); return err },
		`no backend "metal"`: func() error {
			_, err := forge.MeasureContext(t.Context(), forge.BenchOptions{Backends: []string{"metal"}}, norm)
			return err
		},
		"two programs are called norm": func() error { _, err := forge.MeasureContext(t.Context(), options, norm, norm); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
