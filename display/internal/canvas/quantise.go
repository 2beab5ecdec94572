package canvas

import (
	"cmp"
	"image"
	"image/color"
	"slices"
)

// quantise reduces img to 256 of its colours, the translucent ones, which
// smooth its corners, and then the most frequent; every other colour becomes
// the nearest of them.
func quantise(img *image.RGBA) *image.Paletted {
	counts := map[color.RGBA]int{}
	runs(img, func(c color.RGBA, from, to int) { counts[c] += to - from })
	colours := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(opacity(a), opacity(b)), cmp.Compare(counts[b], counts[a]), cmp.Compare(packed(a), packed(b)))
	})
	kept := colours[:min(256, len(colours))]
	index := make(map[color.RGBA]uint8, len(colours))
	palette := make(color.Palette, len(kept))
	for i, c := range kept {
		palette[i] = c
		index[c] = uint8(i)
	}
	for _, c := range colours[len(kept):] {
		index[c] = nearest(kept, c)
	}
	out := image.NewPaletted(img.Rect, palette)
	runs(img, func(c color.RGBA, from, to int) {
		i := index[c]
		for p := from; p < to; p++ {
			out.Pix[p] = i
		}
	})
	return out
}

// runs calls f for every run of pixels of one colour, in order.
func runs(img *image.RGBA, f func(c color.RGBA, from, to int)) {
	start, last := 0, color.RGBA{}
	n := len(img.Pix) / 4
	for i := range n {
		p := img.Pix[4*i : 4*i+4 : 4*i+4]
		c := color.RGBA{p[0], p[1], p[2], p[3]}
		if c != last {
			if i > start {
				f(last, start, i)
			}
			start, last = i, c
		}
	}
	f(last, start, n)
}

// opacity is 1 for an opaque colour and 0 for any other.
func opacity(c color.RGBA) int { return int(c.A) / 0xff }

func packed(c color.RGBA) uint32 {
	return uint32(c.R)<<24 | uint32(c.G)<<16 | uint32(c.B)<<8 | uint32(c.A)
}

func nearest(palette []color.RGBA, c color.RGBA) uint8 {
	best, least := 0, 1<<30
	for i, p := range palette {
		r, g, b, a := int(p.R)-int(c.R), int(p.G)-int(c.G), int(p.B)-int(c.B), int(p.A)-int(c.A)
		if d := r*r + g*g + b*b + a*a; d < least {
			best, least = i, d
		}
	}
	return uint8(best)
}
