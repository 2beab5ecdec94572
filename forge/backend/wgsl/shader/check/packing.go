package check

import "math"

// A format is how one component of a vector stands in its bits of a u32.
type format struct {
	width int
	put   func(w uint64) int64
	get   func(unsigned uint32, signed int32) uint64
	// narrow says that a value beyond the f16 numbers is no constant.
	narrow bool
}

// formats are by the name of the function that packs; the one that unpacks has
// "un" before it.
var formats = map[string]format{
	"pack4x8snorm":  normal(8, -1, 127),
	"pack4x8unorm":  normal(8, 0, 255),
	"pack2x16snorm": normal(16, -1, 32767),
	"pack2x16unorm": normal(16, 0, 65535),
	"pack2x16float": {16, func(w uint64) int64 { return int64(HalfBits(math.Float32frombits(uint32(w)))) },
		func(u uint32, _ int32) uint64 { return uint64(math.Float32bits(HalfValue(uint16(u)))) }, true},
	"pack4xI8": {8, func(w uint64) int64 { return int64(w) },
		func(_ uint32, s int32) uint64 { return uint64(uint32(s)) }, false},
	"pack4xU8": {8, func(w uint64) int64 { return int64(w) },
		func(u uint32, _ int32) uint64 { return uint64(u) }, false},
	"pack4xI8Clamp": {8, func(w uint64) int64 { return min(max(int64(int32(w)), -128), 127) }, nil, false},
	"pack4xU8Clamp": {8, func(w uint64) int64 { return min(int64(uint32(w)), 255) }, nil, false},
}

// normal is the format of numbers from low, which is -1 or 0, to 1 as integers
// up to scale.
func normal(width int, low, scale float64) format {
	put := func(w uint64) int64 {
		return int64(math.Floor(0.5 + scale*least(most(float(F32, w), low), 1)))
	}
	get := func(u uint32, s int32) uint64 {
		v := float64(u) / scale
		if low < 0 {
			v = max(float64(s)/scale, -1)
		}
		w, _ := floatWord(F32, v)
		return w
	}
	return format{width, put, get, false}
}

func (f format) pack(words []uint64) ([]uint64, string) {
	packed, wrong := uint64(0), ""
	for i, w := range words {
		bits := uint64(f.put(w)) & (1<<f.width - 1)
		packed |= bits << (i * f.width)
		if f.narrow && bits&0x7c00 == 0x7c00 {
			wrong = "value " + show(F32, w) + " cannot be represented as 'f16'"
		}
	}
	return []uint64{packed}, wrong
}

func (f format) unpack(packed uint32) ([]uint64, string) {
	r := make([]uint64, 32/f.width)
	for i := range r {
		u := packed >> (i * f.width) & (1<<f.width - 1)
		r[i] = f.get(u, int32(u<<(32-f.width))>>(32-f.width))
	}
	return r, ""
}
