package eval

import (
	"go/types"
	"reflect"

	"golang.org/x/tools/go/ssa"
)

// An index is looked at as a signed number. When it was out of range and its
// type has none, the panic that Go made is told so: its text shows the number.

// The codes by which the runtime tells what was out of range; Go's panics hold
// one of them.
const (
	codeIndex   = 0
	codeHigh    = 1 // x[:high], by the length and by the capacity
	codeLow     = 3 // x[low:]
	codeLimit   = 4 // x[::limit], by the length and by the capacity
	codeMiddle  = 6 // x[:high:]
	codeBetween = 7 // x[low::]
)

// unsignedBounds lists, as bits, the codes that an instruction may panic with
// because of a number whose type is unsigned and of 64 bits. One that does the
// work of others, too, stands for theirs.
func (b *builder) unsignedBounds(in ssa.Instruction) (codes uint8) {
	note := func(v ssa.Value, list ...uint8) {
		if v != nil && isWideUnsigned(v.Type()) {
			for _, c := range list {
				codes |= 1 << c
			}
		}
	}
	switch in := in.(type) {
	case *ssa.IndexAddr:
		note(in.Index, codeIndex)
	case *ssa.Index:
		note(in.Index, codeIndex)
	case *ssa.Lookup: // of a string
		note(in.Index, codeIndex)
	case *ssa.Slice:
		if in.Max == nil {
			note(in.Low, codeLow)
			note(in.High, codeHigh, codeHigh+1)
		} else {
			note(in.Low, codeBetween)
			note(in.High, codeMiddle)
			note(in.Max, codeLimit, codeLimit+1)
		}
	}
	for _, op := range in.Operands(nil) {
		if x, ok := (*op).(ssa.Instruction); ok && b.folded[x] {
			codes |= b.unsignedBounds(x)
		}
	}
	return codes
}

// noteUnsigned keeps which of a block's instructions from one on, the way out of
// it included, were made of one with such bounds.
func (b *builder) noteUnsigned(in ssa.Instruction, block, from int) {
	codes := b.unsignedBounds(in)
	if codes == 0 {
		return
	}
	if b.fn.unsigned == nil {
		b.fn.unsigned = map[[2]int]uint8{}
	}
	for ip := from; ip < max(len(b.block.code), from+1); ip++ {
		b.fn.unsigned[[2]int{block, ip}] |= codes
	}
}

func isWideUnsigned(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && (basic.Kind() == types.Uint || basic.Kind() == types.Uint64 || basic.Kind() == types.Uintptr)
}

// boundsError is what a panic for an index out of range holds.
var boundsError = reflect.TypeOf(goPanic(func() {
	var none []int
	_ = none[len(none)]
}))

// outOfBounds is its layout.
type outOfBounds struct {
	x      int64
	y      int
	signed bool
	code   uint8
}

func init() {
	want := reflect.TypeFor[outOfBounds]()
	for i := range want.NumField() {
		f, ok := boundsError.FieldByName(want.Field(i).Name)
		if !ok || f.Offset != want.Field(i).Offset || f.Type.Kind() != want.Field(i).Type.Kind() {
			panic("eval: this Go release keeps the index of a panic in another way")
		}
	}
}

// error makes the panic's value.
func (o outOfBounds) error() error {
	v := fresh(boundsError)
	*(*outOfBounds)(dataOf(v)) = o
	return v.Interface().(error)
}

// arrayBoundsError is what slicing an array beyond its end gives; the errors of
// slices speak of capacities.
func arrayBoundsError(bound, length int, three bool) error {
	code := uint8(codeHigh)
	if three {
		code = codeLimit
	}
	return outOfBounds{int64(bound), length, true, code}.error()
}

// unsigned corrects the panic of the instruction that a goroutine is at.
func (th *thread) unsigned(r any) any {
	if reflect.TypeOf(r) != boundsError || th.depth == 0 {
		return r
	}
	fr := th.frames[th.depth-1]
	if fr.fn == nil || fr.fn.unsigned == nil {
		return r
	}
	v := fresh(boundsError)
	v.Set(reflect.ValueOf(r))
	o := *(*outOfBounds)(dataOf(v))
	if fr.fn.unsigned[[2]int{fr.block, fr.ip}]&(1<<o.code) == 0 {
		return r
	}
	o.signed = false
	return o.error()
}
