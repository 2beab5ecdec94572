package display_test

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"forgekernel/display"
)

func TestGonumMatrix(t *testing.T) {
	for want, m := range map[string]mat.Matrix{
		"⎡2  0.333333⎤\n⎣0         1⎦": mat.NewDense(2, 2, []float64{2, 1. / 3, 0, 1}),
		"⎡1⎤\n⎣2⎦":                     mat.NewVecDense(2, []float64{1, 2}),
		"Dims(40, 1)\n":                mat.NewDense(40, 1, nil),
		"&mat.Dense{":                  &mat.Dense{},
		"&mat.Cholesky{":               &mat.Cholesky{},
	} {
		if text, _ := display.ToBundle(m).Data["text/plain"].(string); !strings.HasPrefix(text, want) {
			t.Errorf("%T is shown as %q, not %q", m, text, want)
		}
	}
}

func TestGonumPlot(t *testing.T) {
	p := plot.New()
	p.Title.Text = "growth"
	line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 2}})
	if err != nil {
		t.Fatal(err)
	}
	p.Add(line)
	b := display.ToBundle(p)
	svg, _ := b.Data["image/svg+xml"].(string)
	if !strings.Contains(svg, "growth") || strings.Contains(svg, "Serif") {
		t.Errorf("the drawing is %s", svg)
	}
	raw, _ := b.Data["image/png"].([]byte)
	size, err := png.DecodeConfig(bytes.NewReader(raw))
	want := b.Metadata["image/png"].(map[string]any)
	if err != nil || size.Width != 2*want["width"].(int) || size.Height != 2*want["height"].(int) {
		t.Errorf("the picture has %d by %d pixels, told as %v: %v", size.Width, size.Height, want, err)
	}
	if b.Data["text/plain"] != "a plot: growth" {
		t.Errorf("its text is %v", b.Data["text/plain"])
	}
	broken := plot.New()
	broken.X.Min, broken.X.Max = math.NaN(), math.NaN()
	if text := display.ToBundle(broken).Data["text/plain"].(string); !strings.HasPrefix(text, "the plot cannot be drawn: ") {
		t.Errorf("a plot of no numbers shows as %q", text)
	}
}
