package canvas

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"
)

func TestSVGShapes(t *testing.T) {
	s := NewSVG(100.04, 50)
	s.Group("a < b", func() {
		s.Box(Box{X: 1, Y: 2.25, W: 30, H: 20, Radius: 4, Fill: Hex(0xffeedd), Stroke: Hex(0x102030), StrokeWidth: 1, Dashed: true})
	})
	s.Curve(Curve{Points: []Point{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 5}, {-10, 7}, {-10, 9.55}}, Stroke: Hex(0), Width: 1.3})
	s.Polygon(Polygon{Points: []Point{{0, 0}, {1, 0}, {0, 1}}, Fill: Hex(0xff)})
	s.Text(Text{X: 5, Y: 6, Text: "x & \x01", Font: Mono, Size: 11, Fill: Hex(0x123456), Anchor: Middle})
	const want = `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50" viewBox="0 0 100 50" role="img" aria-label="l&quot;" font-family="Go, Helvetica Neue, Helvetica, Arial, sans-serif">
<g><title>a &lt; b</title>
<rect x="1.5" y="2.8" width="29" height="19" rx="3.5" fill="#ffeedd" stroke="#102030" stroke-width="1" stroke-dasharray="5 4"/>
</g>
<path d="M0 0V3C0 5 -10 7 -10 9.6" fill="none" stroke="#000000" stroke-width="1.3"/>
<path d="M0 0L1 0L0 1Z" fill="#0000ff"/>
<text x="5" y="6" text-anchor="middle" font-family="Go Mono, SFMono-Regular, Menlo, Consolas, monospace" font-size="11" fill="#123456">x &amp; ` + "\uFFFD" + `</text>
</svg>
`
	if got := s.Document(`l"`); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNum(t *testing.T) {
	for x, want := range map[float64]string{0: "0", -0.04: "0", 1.25: "1.3", -2.31: "-2.3", -0.5: "-0.5", 1e6 + 0.1: "1000000.1"} {
		if got := num(x); got != want {
			t.Errorf("%g: got %s, want %s", x, got, want)
		}
	}
}

// decoded is a raster as it comes back from its PNG.
func decoded(t *testing.T, r *Raster) image.Image {
	t.Helper()
	b, err := r.PNG()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestRasterBox(t *testing.T) {
	r := NewRaster(20, 10, 2)
	r.Box(Box{X: 2, Y: 2, W: 16, H: 6, Radius: 2, Fill: Hex(0x00ff00), Stroke: Hex(0xff0000), StrokeWidth: 1})
	img := decoded(t, r)
	if got := img.Bounds().Size(); got != image.Pt(40, 20) {
		t.Fatalf("size %v", got)
	}
	for _, test := range []struct {
		x, y int
		want color.NRGBA
	}{
		{20, 10, Hex(0x00ff00)}, // inside
		{20, 4, Hex(0xff0000)},  // on the border
		{4, 10, Hex(0xff0000)},
		{1, 1, color.NRGBA{}}, // outside
		{4, 4, color.NRGBA{}}, // beyond the round corner
	} {
		if got := color.NRGBAModel.Convert(img.At(test.x, test.y)); got != test.want {
			t.Errorf("pixel %d,%d is %v, want %v", test.x, test.y, got, test.want)
		}
	}
}

// ink is the part of an image that is covered, in CSS pixels squared.
func ink(img image.Image, scale float64) float64 {
	sum := 0.0
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			_, _, _, a := img.At(x, y).RGBA()
			sum += float64(a) / 0xffff
		}
	}
	return sum / scale / scale
}

func TestRasterCurveHasItsWidth(t *testing.T) {
	r := NewRaster(60, 3000, 2)
	r.Curve(Curve{Points: []Point{{10, 5}, {10, 1000}, {10, 2000}, {10, 2905}, {10, 2920}, {50, 2920}, {50, 2945}}, Stroke: Hex(0), Width: 3})
	straight := 2900.0 * 3
	if got := ink(decoded(t, r), 2); got < straight+3*50 || got > straight+3*70 { // the bend is about 60 long
		t.Errorf("%g pixels covered, want about %g", got, straight+3*60)
	}
}

func TestDashesCoverTheirShare(t *testing.T) {
	r := NewRaster(300, 300, 1)
	r.Box(Box{X: 10, Y: 10, W: 280, H: 280, Stroke: Hex(0), StrokeWidth: 2, Dashed: true})
	whole := 4 * 278.0 * 2
	if got := ink(decoded(t, r), 1) / whole; math.Abs(got-5.0/9) > 0.03 {
		t.Errorf("dashes cover %.2f of the border", got)
	}
}

func TestTextIsAsWideAsMeasured(t *testing.T) {
	const text, size = "matmul f32[8,16] é", 20.0
	r := NewRaster(400, 40, 2)
	r.Text(Text{X: 200, Y: 25, Text: text, Font: Medium, Size: size, Fill: Hex(0), Anchor: Middle})
	img := decoded(t, r)
	left, right := img.Bounds().Dx(), 0
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if _, _, _, a := img.At(x, y).RGBA(); a > 0 {
				left, right = min(left, x), max(right, x)
			}
		}
	}
	width := Width(text, Medium, size)
	if drawn := float64(right-left) / 2; math.Abs(drawn-width) > 4 || math.Abs(float64(right+left)/4-200) > 2 {
		t.Errorf("drawn from %d to %d, measured %g", left, right, 2*width)
	}
	if got := Width("幅", Regular, 10); got != 10 {
		t.Errorf("a character that the font lacks is %g wide", got)
	}
}

func TestQuantiseKeepsExactColours(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 300, 2))
	for x := range 300 {
		img.Set(x, 0, color.RGBA{uint8(x), uint8(x >> 8), 7, 0xff})
		img.Set(x, 1, color.RGBA{200, 0, 0, 0xff})
	}
	out := quantise(img)
	if len(out.Palette) != 256 || out.At(5, 1) != (color.RGBA{200, 0, 0, 0xff}) {
		t.Errorf("%d colours; the most frequent became %v", len(out.Palette), out.At(5, 1))
	}
	for x := range 300 {
		got, want := out.At(x, 0).(color.RGBA), img.RGBAAt(x, 0)
		if d := int(got.R) - int(want.R); d < -60 || d > 60 {
			t.Errorf("%v became %v", want, got)
		}
	}
	if strings.Count(string(out.Pix), "\x00") < 300 {
		t.Error("the most frequent colour is not first")
	}
}
