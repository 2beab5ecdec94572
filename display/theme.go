package display

import (
	"fmt"
	"image/color"

	"forgekernel/display/internal/canvas"
)

// Theme is the colour scheme of a drawing. Both are opaque, so a drawing reads
// well on any page.
type Theme uint8

// Themes.
const (
	Light Theme = iota
	Dark
)

// Class selects a node's colour. An unknown class is drawn grey.
type Class string

// Classes of nodes in a tensor program.
const (
	ClassInput       Class = "input"
	ClassConstant    Class = "constant"
	ClassOutput      Class = "output"
	ClassElementwise Class = "elementwise"
	ClassReduction   Class = "reduction"
	ClassContraction Class = "contraction" // matmul, convolution, attention
	ClassMovement    Class = "movement"    // reshape, transpose, slice
	ClassFused       Class = "fused"
	ClassTransfer    Class = "transfer" // collectives, copies between devices
	ClassState       Class = "state"    // caches threaded through a program
)

// tint colours one box: its ground, its border and the text on it.
type tint struct{ fill, stroke, text color.NRGBA }

func newTint(fill, stroke, text uint32) tint {
	return tint{canvas.Hex(fill), canvas.Hex(stroke), canvas.Hex(text)}
}

// palette is the colours of a theme.
type palette struct {
	card, cluster tint
	edge, faint   color.NRGBA // arrows; second lines and port names
	classes       map[Class]tint
	other         tint
}

var palettes = [...]palette{
	Light: {
		card:    newTint(0xffffff, 0xd0d7de, 0x1f2328),
		cluster: newTint(0xf6f8fa, 0xafb8c1, 0x57606a),
		edge:    canvas.Hex(0x6e7781),
		faint:   canvas.Hex(0x57606a),
		other:   newTint(0xf6f8fa, 0x8c959f, 0x24292f),
		classes: map[Class]tint{
			ClassInput:       newTint(0xddf4ff, 0x54aeff, 0x0a3069),
			ClassConstant:    newTint(0xeaeef2, 0x8c959f, 0x24292f),
			ClassOutput:      newTint(0xdafbe1, 0x4ac26b, 0x044f1e),
			ClassElementwise: newTint(0xfff8c5, 0xd4a72c, 0x3b2300),
			ClassReduction:   newTint(0xf5eaff, 0xc297ff, 0x3e1f79),
			ClassContraction: newTint(0xffe8d6, 0xfb8f44, 0x5c2200),
			ClassMovement:    newTint(0xdcf5f1, 0x4fb3a9, 0x0b4f4a),
			ClassFused:       newTint(0xffeff7, 0xff80c8, 0x611347),
			ClassTransfer:    newTint(0xffebe9, 0xff8182, 0x660018),
			ClassState:       newTint(0xe6eaff, 0x8098f9, 0x2d31a6),
		},
	},
	Dark: {
		card:    newTint(0x161b22, 0x30363d, 0xe6edf3),
		cluster: newTint(0x1f2630, 0x484f58, 0x9da7b3),
		edge:    canvas.Hex(0x8b949e),
		faint:   canvas.Hex(0xadb7c2),
		other:   newTint(0x2d333b, 0x768390, 0xe6edf3),
		classes: map[Class]tint{
			ClassInput:       newTint(0x0c2d4a, 0x388bfd, 0xcae8ff),
			ClassConstant:    newTint(0x2d333b, 0x768390, 0xe6edf3),
			ClassOutput:      newTint(0x0f3d1f, 0x3fb950, 0xcdf7d6),
			ClassElementwise: newTint(0x3d2f00, 0xbb8009, 0xf8e3a1),
			ClassReduction:   newTint(0x331c56, 0xa371f7, 0xecd8ff),
			ClassContraction: newTint(0x4a2300, 0xdb6d28, 0xffdfb6),
			ClassMovement:    newTint(0x063b36, 0x2f9d92, 0xb8f0e8),
			ClassFused:       newTint(0x4b1a37, 0xdb61a2, 0xffdaec),
			ClassTransfer:    newTint(0x4e1114, 0xf85149, 0xffdcd7),
			ClassState:       newTint(0x1f2659, 0x6e7ff3, 0xd8deff),
		},
	},
}

func (t Theme) palette() *palette {
	if t == Dark {
		return &palettes[Dark]
	}
	return &palettes[Light]
}

func cssHex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func (p *palette) tint(c Class) tint {
	if t, ok := p.classes[c]; ok {
		return t
	}
	return p.other
}
