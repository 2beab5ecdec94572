package display

import (
	"bytes"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a gonum plot that is shown as the value of a cell, in CSS pixels, which
// are 4/3 of vg's points apart.
const (
	plotWidth  = 560
	plotHeight = 360
)

// A plot that a cell makes has the typeface of everything else that is shown.
func init() { plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"} }

// plotBundle shows a gonum plot as SVG and as a PNG with two pixels for each of its own.
// A plot that cannot be drawn is the reason why.
func plotBundle(p *plot.Plot) (b Bundle) {
	defer func() {
		if cause := recover(); cause != nil {
			b = Text(fmt.Sprintf("the plot cannot be drawn: %v", cause))
		}
	}()
	for name, axis := range map[string]plot.Axis{"x": p.X, "y": p.Y} {
		if math.IsNaN(axis.Min) || math.IsNaN(axis.Max) { // the library looks for ticks without end
			return Text(fmt.Sprintf("the plot cannot be drawn: its axis %s goes from %v to %v", name, axis.Min, axis.Max))
		}
	}
	w, h := vg.Length(plotWidth)*vg.Inch/96, vg.Length(plotHeight)*vg.Inch/96
	picture := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(2*96))}
	drawing := vgsvg.New(w, h)
	var pixels, svg bytes.Buffer
	for canvas, into := range map[vg.CanvasWriterTo]*bytes.Buffer{picture: &pixels, drawing: &svg} {
		whole := draw.New(canvas)
		if p.BackgroundColor != nil {
			whole.SetColor(p.BackgroundColor)
			whole.Fill(whole.Rectangle.Path())
		}
		p.Draw(draw.Crop(whole, 8, -12, 8, -8)) // the last label of an axis stands half outside of it
		if _, err := canvas.WriteTo(into); err != nil {
			return Text("the plot cannot be drawn: " + err.Error())
		}
	}
	text := "a plot"
	if p.Title.Text != "" {
		text = "a plot: " + p.Title.Text
	}
	return Bundle{
		Data:     map[string]any{"image/svg+xml": svg.String(), "image/png": pixels.Bytes(), "text/plain": text},
		Metadata: map[string]any{"image/png": map[string]any{"width": plotWidth, "height": plotHeight, "alt": text}},
	}
}
