package install

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"golang.org/x/image/vector"
)

// The logo is an anvil on a dark tile with three sparks: polygons on a 64 x 64
// canvas, drawn once here for both SVG and PNG.
type polygon struct {
	fill   color.RGBA
	points [][2]float32
}

var (
	tile  = color.RGBA{0x1f, 0x29, 0x37, 0xff}
	steel = color.RGBA{0xe5, 0xe7, 0xeb, 0xff}
	spark = color.RGBA{0xf5, 0x9e, 0x0b, 0xff}
)

var logo = []polygon{
	{tile, [][2]float32{{8, 0}, {56, 0}, {64, 8}, {64, 56}, {56, 64}, {8, 64}, {0, 56}, {0, 8}}},
	{steel, [][2]float32{{6, 28}, {56, 28}, {56, 36}, {42, 40}, {38, 44}, {38, 48}, {48, 54}, {48, 58}, {18, 58}, {18, 54}, {28, 48}, {28, 44}, {22, 39}, {12, 37}}},
	{spark, [][2]float32{{32, 4}, {35, 13}, {32, 22}, {29, 13}}},
	{spark, [][2]float32{{17, 10}, {23, 15}, {25, 22}, {19, 17}}},
	{spark, [][2]float32{{47, 10}, {45, 17}, {39, 22}, {41, 15}}},
}

func logoSVG() []byte {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" viewBox="0 0 64 64">` + "\n")
	for _, p := range logo {
		var points []string
		for _, xy := range p.points {
			points = append(points, fmt.Sprintf("%g,%g", xy[0], xy[1]))
		}
		fmt.Fprintf(&b, "<polygon fill=\"#%02x%02x%02x\" points=\"%s\"/>\n",
			p.fill.R, p.fill.G, p.fill.B, strings.Join(points, " "))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func logoPNG(size int) ([]byte, error) {
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	scale := float32(size) / 64
	for _, p := range logo {
		r := vector.NewRasterizer(size, size)
		for i, xy := range p.points {
			if i == 0 {
				r.MoveTo(xy[0]*scale, xy[1]*scale)
			} else {
				r.LineTo(xy[0]*scale, xy[1]*scale)
			}
		}
		r.ClosePath()
		r.Draw(img, img.Bounds(), image.NewUniform(p.fill), image.Point{})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
