package eval

import "unsafe"

// What reflect does with slices, maps and memory goes through functions of the
// runtime that it keeps for packages that reach them like this: by the address
// of a key or an element, so that nothing is boxed. Their arguments must be what
// reflect passes; the tests of this package hold them to what Go does.

//go:linkname reflectMove reflect.typedmemmove
func reflectMove(t, dst, src unsafe.Pointer)

//go:linkname reflectCopy reflect.typedslicecopy
func reflectCopy(elem unsafe.Pointer, dst, src header) int

//go:linkname reflectGrow reflect.growslice
func reflectGrow(elem unsafe.Pointer, old header, n int) header

//go:linkname newArray reflect.unsafe_NewArray
func newArray(elem unsafe.Pointer, n int) unsafe.Pointer
