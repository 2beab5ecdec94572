package verify

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"strings"
)

const (
	// maxPixels bounds the images that are decoded.
	maxPixels = 64 << 20
	// visible is how far a channel of a pixel, of 16 bits, must be off to count.
	visible = 16 << 8
)

// images compares two images, as base64, pixel by pixel.
func (t *comparison) images(where, want, got string) []Difference {
	w, err := decode(want)
	if err != nil {
		return []Difference{{Where: where, Detail: "stored image: " + err.Error()}}
	}
	g, err := decode(got)
	if err != nil {
		return []Difference{{Where: where, Detail: "new image: " + err.Error()}}
	}
	if w.Bounds().Size() != g.Bounds().Size() {
		return []Difference{{Where: where, Detail: fmt.Sprintf("%v pixels became %v", w.Bounds().Size(), g.Bounds().Size())}}
	}
	share := differingShare(w, g)
	if share <= t.pixels {
		t.pixelsOff = max(t.pixelsOff, share)
		return nil
	}
	return []Difference{{Where: where, Detail: fmt.Sprintf("%.2g %% of the pixels differ, more than %.2g %%", 100*share, 100*t.pixels)}}
}

func decode(text string) (image.Image, error) {
	content, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, err
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if int64(config.Width)*int64(config.Height) > maxPixels {
		return nil, fmt.Errorf("%d×%d pixels are too many to compare", config.Width, config.Height)
	}
	img, _, err := image.Decode(bytes.NewReader(content))
	return img, err
}

func differingShare(a, b image.Image) float64 {
	size := a.Bounds().Size()
	differing := 0
	for y := range size.Y {
		for x := range size.X {
			if differ(a.At(a.Bounds().Min.X+x, a.Bounds().Min.Y+y), b.At(b.Bounds().Min.X+x, b.Bounds().Min.Y+y)) {
				differing++
			}
		}
	}
	return float64(differing) / float64(max(1, size.X*size.Y))
}

func differ(a, b color.Color) bool {
	ar, ag, ab, aa := a.RGBA()
	br, bg, bb, ba := b.RGBA()
	return apart(ar, br) || apart(ag, bg) || apart(ab, bb) || apart(aa, ba)
}

func apart(a, b uint32) bool { return max(a, b)-min(a, b) > visible }
