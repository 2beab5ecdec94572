package driver

import (
	"errors"
	"fmt"
	"unsafe"
)

// Boxes says how the copy engine of a device brings boxes of a tensor to shared memory,
// from capability 9.0 on: with zeros where a box is beyond the tensor, and with the units
// of 16 bytes of each line of 128 exchanged by the number of the line, as tensor cores
// read it. A line of a box has 128 bytes at most.
type Boxes struct {
	Kind  ElementKind
	Sizes []uint64 // elements of 2 to 5 dimensions; those of the first are neighbours
	Steps []uint64 // bytes from one element to the next, multiples of 16; of all dimensions but the first
	Box   []uint32 // elements of a box in each dimension, 256 at most
}

// ElementKind is a type of elements, of CUtensorMapDataType.
type ElementKind int32

// Types that the copy engine moves.
const (
	ElementF16  ElementKind = 6
	ElementBF16 ElementKind = 9
)

// Of the enumerations of cuTensorMapEncodeTiled.
const (
	interleaveNone = 0
	swizzle128     = 3
	promote256     = 3 // lines that the second cache fetches
	fillZeros      = 0
)

// tensorMap is CUtensorMap.
type tensorMap struct{ words [16]uint64 }

// tensorMapAlign is what the address of a tensorMap is a multiple of: CUDA 12 asks for 64, CUDA 13 for 128.
const tensorMapAlign = 128

// encode describes the tensor at an address of the device, which is a multiple of 16.
func (c *Context) encode(b *Boxes, address uint64) (*tensorMap, error) {
	rank := len(b.Sizes)
	detail := fmt.Sprintf("%d elements in boxes of %d", b.Sizes, b.Box)
	if rank < 2 || rank > 5 || len(b.Steps) != rank-1 || len(b.Box) != rank {
		return nil, fmt.Errorf("%s and %d steps are no tensor of 2 to 5 dimensions", detail, len(b.Steps))
	}
	if !c.lib.lib.Has("cuTensorMapEncodeTiled") {
		return nil, errors.New("the driver has no cuTensorMapEncodeTiled, which CUDA 12.0 brought")
	}
	room := make([]byte, unsafe.Sizeof(tensorMap{})+tensorMapAlign)
	past := uintptr(unsafe.Pointer(&room[0])) % tensorMapAlign
	m := (*tensorMap)(unsafe.Pointer(&room[(tensorMapAlign-past)%tensorMapAlign]))
	ones := []uint32{1, 1, 1, 1, 1}
	err := c.call(detail, "cuTensorMapEncodeTiled", uintptr(unsafe.Pointer(m)), uintptr(b.Kind), uintptr(rank), uintptr(address),
		uintptr(unsafe.Pointer(&b.Sizes[0])), uintptr(unsafe.Pointer(&b.Steps[0])), uintptr(unsafe.Pointer(&b.Box[0])), uintptr(unsafe.Pointer(&ones[0])),
		interleaveNone, swizzle128, promote256, fillZeros)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Describe makes argument i, an address, the description of the tensor there.
func (a *Arguments) Describe(c *Context, i int, b *Boxes) error {
	m, err := c.encode(b, a.words[i])
	if err == nil {
		a.pointers[i] = unsafe.Pointer(m)
	}
	return err
}
