package wgsl

import (
	"encoding/binary"
	"math"

	"forgekernel/forge/backend/planned"
	"forgekernel/forge/tensor"
)

// encode fills a buffer with a tensor, in the form that its elements have there.
func encode(to []byte, e Elem, t *tensor.Tensor) {
	switch d := t.DType(); {
	case e == ElemHalves || e == ElemBHalves:
		copy(to, planned.Bytes(t))
	case e == ElemBool:
		for i, v := range t.Bool() {
			word := uint32(0)
			if v {
				word = 1
			}
			binary.LittleEndian.PutUint32(to[4*i:], word)
		}
	case e == ElemPair:
		for i, v := range t.Float64() {
			hi := float32(v)
			binary.LittleEndian.PutUint32(to[8*i:], math.Float32bits(hi))
			binary.LittleEndian.PutUint32(to[8*i+4:], math.Float32bits(float32(v-float64(hi))))
		}
	case e == ElemF32 && d != tensor.F32:
		wide := make([]float32, t.Len())
		tensor.WidenHalf(d, wide, t.Bits16())
		copy(to, planned.Raw(wide))
	default:
		copy(to, planned.Bytes(t))
	}
}

// decode fills a tensor with what a buffer holds.
func decode(t *tensor.Tensor, e Elem, from []byte) {
	switch d := t.DType(); {
	case e == ElemBool:
		for i := range t.Bool() {
			t.Bool()[i] = binary.LittleEndian.Uint32(from[4*i:]) != 0
		}
	case e == ElemF32 && d != tensor.F32:
		wide := make([]float32, t.Len())
		for i := range wide {
			wide[i] = math.Float32frombits(binary.LittleEndian.Uint32(from[4*i:]))
		}
		tensor.NarrowHalf(d, t.Bits16(), wide)
	default:
		copy(planned.Bytes(t), from)
	}
}
