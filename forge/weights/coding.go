package weights

import (
	"encoding/binary"
	"math"

	"forgekernel/forge/tensor"
)

// coding is how elements are stored: blocks of so many elements in so many bytes.
type coding struct {
	dtype tensor.DType // that holds every value
	block int          // elements
	bytes int          // of a block
	exact bool         // stored as the tensor type itself
	// floats decodes whole blocks; integer reads an element of a type that is not a
	// float.
	floats  func(dst []float32, blocks []byte)
	integer func([]byte) int64
}

func plain(dtype tensor.DType) coding {
	c := coding{dtype: dtype, block: 1, bytes: dtype.Size(), exact: true}
	le := binary.LittleEndian
	switch dtype {
	case tensor.F32:
		c.floats = func(dst []float32, b []byte) {
			for i := range dst {
				dst[i] = math.Float32frombits(le.Uint32(b[4*i:]))
			}
		}
	case tensor.F64:
		c.floats = func(dst []float32, b []byte) {
			for i := range dst {
				dst[i] = float32(math.Float64frombits(le.Uint64(b[8*i:])))
			}
		}
	case tensor.F16, tensor.BF16:
		c.floats = func(dst []float32, b []byte) {
			bits := make([]uint16, len(dst))
			for i := range bits {
				bits[i] = le.Uint16(b[2*i:])
			}
			tensor.WidenHalf(dtype, dst, bits)
		}
	case tensor.I64:
		c.integer = func(b []byte) int64 { return int64(le.Uint64(b)) }
	case tensor.I32:
		c.integer = func(b []byte) int64 { return int64(int32(le.Uint32(b))) }
	case tensor.Bool:
		c.integer = func(b []byte) int64 { return int64(b[0]) }
	}
	return c
}

// narrow is an integer type that is held in a wider one.
func narrow(held tensor.DType, bytes int, read func([]byte) int64) coding {
	return coding{dtype: held, block: 1, bytes: bytes, integer: read}
}

var (
	codeI8  = narrow(tensor.I32, 1, func(b []byte) int64 { return int64(int8(b[0])) })
	codeU8  = narrow(tensor.I32, 1, func(b []byte) int64 { return int64(b[0]) })
	codeI16 = narrow(tensor.I32, 2, func(b []byte) int64 { return int64(int16(binary.LittleEndian.Uint16(b))) })
	codeU16 = narrow(tensor.I32, 2, func(b []byte) int64 { return int64(binary.LittleEndian.Uint16(b)) })
	codeU32 = narrow(tensor.I64, 4, func(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) })
)

// half reads a float16.
func half(b []byte) float32 {
	var v [1]float32
	tensor.WidenHalf(tensor.F16, v[:], []uint16{binary.LittleEndian.Uint16(b)})
	return v[0]
}

func quantised(block, bytes int, decode func(dst []float32, b []byte)) coding {
	return coding{dtype: tensor.F32, block: block, bytes: bytes, floats: func(dst []float32, b []byte) {
		for i := range len(dst) / block {
			decode(dst[i*block:][:block], b[i*bytes:][:bytes])
		}
	}}
}

// Blocks of 32: a scale d, perhaps a minimum m, and 4, 5 or 8 bits for each element.
// Of two elements in a byte the low half comes 16 places before the high one.
var (
	codeQ4_0 = quantised(32, 18, func(dst []float32, b []byte) {
		d := half(b)
		for i, q := range b[2:18] {
			dst[i], dst[i+16] = d*float32(int(q&15)-8), d*float32(int(q>>4)-8)
		}
	})
	codeQ4_1 = quantised(32, 20, func(dst []float32, b []byte) {
		d, m := half(b), half(b[2:])
		for i, q := range b[4:20] {
			dst[i], dst[i+16] = float32(d*float32(q&15))+m, float32(d*float32(q>>4))+m
		}
	})
	codeQ5_0 = quantised(32, 22, func(dst []float32, b []byte) {
		d, high := half(b), binary.LittleEndian.Uint32(b[2:])
		for i, q := range b[6:22] {
			dst[i] = d * float32(int(q&15)|int(high>>i&1)<<4-16)
			dst[i+16] = d * float32(int(q>>4)|int(high>>(i+16)&1)<<4-16)
		}
	})
	codeQ5_1 = quantised(32, 24, func(dst []float32, b []byte) {
		d, m, high := half(b), half(b[2:]), binary.LittleEndian.Uint32(b[4:])
		for i, q := range b[8:24] {
			dst[i] = float32(d*float32(int(q&15)|int(high>>i&1)<<4)) + m
			dst[i+16] = float32(d*float32(int(q>>4)|int(high>>(i+16)&1)<<4)) + m
		}
	})
	codeQ8_0 = quantised(32, 34, func(dst []float32, b []byte) {
		d := half(b)
		for i, q := range b[2:34] {
			dst[i] = d * float32(int8(q))
		}
	})
)

// Blocks of 256 with a scale and a minimum for each 32 elements, of 6 bits each.
var (
	codeQ4_K = quantised(256, 144, func(dst []float32, b []byte) {
		d, m := half(b), half(b[2:])
		scales, q := b[4:16], b[16:144]
		for g := range 8 {
			s, low := sixBits(scales, g)
			scale, min := d*float32(s), m*float32(low)
			for i := range 32 {
				v := q[g/2*32+i] >> (g % 2 * 4) & 15
				dst[g*32+i] = float32(scale*float32(v)) - min
			}
		}
	})
	codeQ5_K = quantised(256, 176, func(dst []float32, b []byte) {
		d, m := half(b), half(b[2:])
		scales, high, q := b[4:16], b[16:48], b[48:176]
		for g := range 8 {
			s, low := sixBits(scales, g)
			scale, min := d*float32(s), m*float32(low)
			for i := range 32 {
				v := q[g/2*32+i]>>(g%2*4)&15 | high[i]>>g&1<<4
				dst[g*32+i] = float32(scale*float32(v)) - min
			}
		}
	})
	// Q6_K has 16 scales of 8 bits, one for each 16 elements, and no minimum.
	codeQ6_K = quantised(256, 210, func(dst []float32, b []byte) {
		low, high, scales, d := b[:128], b[128:192], b[192:208], half(b[208:])
		for i := range 256 {
			part, k := i/128, i%128 // of 128 elements: 64 bytes of low and 32 of high bits
			v := low[part*64+k%64] >> (k / 64 * 4) & 15
			v |= high[part*32+k%32] >> (k / 32 * 2) & 3 << 4
			dst[i] = d * float32(int8(scales[i/16])) * float32(int(v)-32)
		}
	})
)

// sixBits unpacks scale and minimum g of 8 from 12 bytes.
func sixBits(b []byte, g int) (scale, min byte) {
	if g < 4 {
		return b[g] & 63, b[g+4] & 63
	}
	return b[g+4]&15 | b[g-4]>>6<<4, b[g+4]>>4 | b[g]>>6<<4
}
