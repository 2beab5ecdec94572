package display

import "forgekernel/display/internal/palette"

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

func (t Theme) palette() *palette.Palette {
	if t == Dark {
		return palette.Dark
	}
	return palette.Light
}
