// Package source is the C text behind the operations of kernels. The parts that only
// compute, and know nothing of vectors in registers, serve other printers too.
//
// The text lies in a folder of its own: Go takes C files beside Go files for parts of
// the package.
package source

import (
	_ "embed"
	"strings"
)

//go:embed c/prelude.c
var prelude string

//go:embed c/types.c
var types string

//go:embed c/elementary.c
var elementary string

// Half are conversions between half precision and f32.
func Half() string { return part(types, "/* Half precision:", "/* Elements as they are computed with") }

// Arithmetic are the operations in f32.
func Arithmetic() string { return part(prelude, "INLINE vf v_add(", "/* A fold over the lanes") }

// Types are the operations in other types, and conversions between types.
func Types() string { return part(types, "INLINE hl choose_hl(", "/* Folds over the lanes") }

// Elementary are functions of more than one method.
func Elementary() string { return elementary }

// part cuts a text out between two others, which are there.
func part(text, from, to string) string {
	_, text, found := strings.Cut(text, from)
	text, _, ends := strings.Cut(text, to)
	if !found || !ends {
		panic("source: " + from + " is not followed by " + to)
	}
	return from + text
}
