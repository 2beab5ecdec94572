// Package palette is the colours of drawings: a light and a dark scheme, both on
// an opaque ground, so that a drawing reads well on any page.
package palette

import (
	"fmt"
	"image/color"

	"forgekernel/display/internal/canvas"
)

// Tint colours one box: its ground, its border and the text on it.
type Tint struct{ Fill, Stroke, Text color.NRGBA }

func tint(fill, stroke, text uint32) Tint {
	return Tint{canvas.Hex(fill), canvas.Hex(stroke), canvas.Hex(text)}
}

// Palette is the colours of a theme.
type Palette struct {
	Card, Cluster Tint
	Edge, Faint   color.NRGBA // arrows and axes; second lines, port names and ticks
	Grid          color.NRGBA
	// Named are the colours of classes of nodes and of the marks of charts. Those of
	// series are what Okabe and Ito found the colour-blind to tell apart.
	Named map[string]Tint
	Other Tint // of what has none
}

// Tint is the colour of a name.
func (p *Palette) Tint(name string) Tint {
	if t, ok := p.Named[name]; ok {
		return t
	}
	return p.Other
}

// Hex writes a colour as pages do.
func Hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// Light and Dark are the palettes of the two themes.
var (
	Light = &Palette{
		Grid:    canvas.Hex(0xe6eaee),
		Card:    tint(0xffffff, 0xd0d7de, 0x1f2328),
		Cluster: tint(0xf6f8fa, 0xafb8c1, 0x57606a),
		Edge:    canvas.Hex(0x6e7781),
		Faint:   canvas.Hex(0x57606a),
		Other:   tint(0xf6f8fa, 0x8c959f, 0x24292f),
		Named: map[string]Tint{
			"input":       tint(0xddf4ff, 0x54aeff, 0x0a3069),
			"constant":    tint(0xeaeef2, 0x8c959f, 0x24292f),
			"output":      tint(0xdafbe1, 0x4ac26b, 0x044f1e),
			"elementwise": tint(0xfff8c5, 0xd4a72c, 0x3b2300),
			"reduction":   tint(0xf5eaff, 0xc297ff, 0x3e1f79),
			"contraction": tint(0xffe8d6, 0xfb8f44, 0x5c2200),
			"movement":    tint(0xdcf5f1, 0x4fb3a9, 0x0b4f4a),
			"fused":       tint(0xffeff7, 0xff80c8, 0x611347),
			"transfer":    tint(0xffebe9, 0xff8182, 0x660018),
			"state":       tint(0xe6eaff, 0x8098f9, 0x2d31a6),
			"good":        tint(0xd5f0e6, 0x009e73, 0x00573f),
			"close":       tint(0xd6e8f5, 0x0072b2, 0x003f63),
			"bad":         tint(0xf9dedc, 0xb3261e, 0x6d130e),
			"plain":       tint(0xe4e7ea, 0x8a929b, 0x3a4149),
			"ink":         tint(0x1f2328, 0x1f2328, 0xffffff),
			"limit":       tint(0xffebe9, 0xcf222e, 0xcf222e),
			"level":       tint(0xddf4ff, 0x54aeff, 0x0a3069),
			"added":       tint(0xdafbe1, 0x1a7f37, 0x044f1e),
			"removed":     tint(0xffebe9, 0xcf222e, 0x660018),
			"changed":     tint(0xfff8c5, 0xbf8700, 0x3b2300),
			"same":        tint(0xf6f8fa, 0xafb8c1, 0x57606a),
			"slot":        tint(0xf6f8fa, 0xe6eaee, 0x57606a),
			"picked row":  tint(0xedf8f4, 0xedf8f4, 0x00573f),
			"series 0":    tint(0xd6e8f5, 0x0072b2, 0x003f63),
			"series 1":    tint(0xfae3d3, 0xd55e00, 0x7a3600),
			"series 2":    tint(0xd5f0e6, 0x009e73, 0x00573f),
			"series 3":    tint(0xf7e6ef, 0xcc79a7, 0x7a2d57),
			"series 4":    tint(0xe1f2fc, 0x56b4e9, 0x14567f),
			"series 5":    tint(0xfcf0d4, 0xe69f00, 0x7a5400),
			"series 6":    tint(0xe2e2e2, 0x505050, 0x303030),
		},
	}
	Dark = &Palette{
		Grid:    canvas.Hex(0x2b323b),
		Card:    tint(0x161b22, 0x30363d, 0xe6edf3),
		Cluster: tint(0x1f2630, 0x484f58, 0x9da7b3),
		Edge:    canvas.Hex(0x8b949e),
		Faint:   canvas.Hex(0xadb7c2),
		Other:   tint(0x2d333b, 0x768390, 0xe6edf3),
		Named: map[string]Tint{
			"input":       tint(0x0c2d4a, 0x388bfd, 0xcae8ff),
			"constant":    tint(0x2d333b, 0x768390, 0xe6edf3),
			"output":      tint(0x0f3d1f, 0x3fb950, 0xcdf7d6),
			"elementwise": tint(0x3d2f00, 0xbb8009, 0xf8e3a1),
			"reduction":   tint(0x331c56, 0xa371f7, 0xecd8ff),
			"contraction": tint(0x4a2300, 0xdb6d28, 0xffdfb6),
			"movement":    tint(0x063b36, 0x2f9d92, 0xb8f0e8),
			"fused":       tint(0x4b1a37, 0xdb61a2, 0xffdaec),
			"transfer":    tint(0x4e1114, 0xf85149, 0xffdcd7),
			"state":       tint(0x1f2659, 0x6e7ff3, 0xd8deff),
			"good":        tint(0x0f4d3a, 0x2fc598, 0xb9f0de),
			"close":       tint(0x103a57, 0x4aa8e0, 0xcae6f8),
			"bad":         tint(0x5a1512, 0xf0655c, 0xffd9d6),
			"plain":       tint(0x333a42, 0x8f98a3, 0xdfe4ea),
			"ink":         tint(0xe6edf3, 0xe6edf3, 0x161b22),
			"limit":       tint(0x4e1114, 0xf85149, 0xff8a82),
			"level":       tint(0x0c2d4a, 0x388bfd, 0xcae8ff),
			"added":       tint(0x0f3d1f, 0x3fb950, 0xcdf7d6),
			"removed":     tint(0x4e1114, 0xf85149, 0xffdcd7),
			"changed":     tint(0x3d2f00, 0xd29922, 0xf8e3a1),
			"same":        tint(0x1f2630, 0x545d68, 0x9da7b3),
			"slot":        tint(0x1f2630, 0x2b323b, 0x9da7b3),
			"picked row":  tint(0x14302a, 0x14302a, 0xb9f0de),
			"series 0":    tint(0x103a57, 0x4aa8e0, 0xcae6f8),
			"series 1":    tint(0x55290a, 0xf08a3c, 0xffdcbf),
			"series 2":    tint(0x0f4d3a, 0x2fc598, 0xb9f0de),
			"series 3":    tint(0x522a42, 0xe39ac4, 0xf8dcec),
			"series 4":    tint(0x1c4258, 0x7fcbf5, 0xd6effc),
			"series 5":    tint(0x4d3906, 0xf0b93a, 0xfbe6b5),
			"series 6":    tint(0x3a3a3a, 0xb0b0b0, 0xe8e8e8),
		},
	}
)
