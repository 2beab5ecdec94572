package shader

import "math"

// A lanewise operator on two words: for one pair, for two wide registers, and
// for a wide and a narrow one on either side. The loops are written with the
// operator's own function, so that the compiler puts it in line.
type lanewise struct {
	one func(x, y uint32) uint32
	vv  func(d, x, y []uint32)
	vs  func(d, x []uint32, y uint32)
	sv  func(d []uint32, x uint32, y []uint32)
}

func zip1(d, x []uint32, f func(x uint32) uint32) {
	for i := range d {
		d[i] = f(x[i])
	}
}

func zip(d, x, y []uint32, f func(x, y uint32) uint32) {
	for i := range d {
		d[i] = f(x[i], y[i])
	}
}

func zipRight(d, x []uint32, y uint32, f func(x, y uint32) uint32) {
	for i := range d {
		d[i] = f(x[i], y)
	}
}

func zipLeft(d []uint32, x uint32, y []uint32, f func(x, y uint32) uint32) {
	for i := range d {
		d[i] = f(x, y[i])
	}
}

func zip3(d, x, y, z []uint32, f func(x, y, z uint32) uint32) {
	for i := range d {
		d[i] = f(x[i], y[i], z[i])
	}
}

// slow makes the loops of an operator that is called for each lane.
func slow(f func(x, y uint32) uint32) lanewise {
	return lanewise{f,
		func(d, x, y []uint32) { zip(d, x, y, f) },
		func(d, x []uint32, y uint32) { zipRight(d, x, y, f) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y, f) }}
}

// floatBinary are the operators of f32.
var floatBinary = map[string]lanewise{
	"+": {addFloat,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], addFloat) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, addFloat) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], addFloat) }},
	"-": {subFloat,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], subFloat) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, subFloat) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], subFloat) }},
	"*": {mulFloat,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], mulFloat) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, mulFloat) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], mulFloat) }},
	"/": {divFloat,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], divFloat) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, divFloat) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], divFloat) }},
	"==": {eqFloat,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], eqFloat) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, eqFloat) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], eqFloat) }},
	"!=": {neFloat,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], neFloat) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, neFloat) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], neFloat) }},
	"<": {ltFloat,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], ltFloat) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, ltFloat) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], ltFloat) }},
	">": {gtFloat,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], gtFloat) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, gtFloat) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], gtFloat) }},
	"<=": {leFloat,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], leFloat) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, leFloat) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], leFloat) }},
	">=": {geFloat,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], geFloat) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, geFloat) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], geFloat) }},
	"%": slow(func(x, y uint32) uint32 { return word(float32(math.Mod(float64(f32(x)), float64(f32(y))))) }),
}

// intBinary are the operators that treat i32 and u32 alike, and bool.
var intBinary = map[string]lanewise{
	"+": {addInt,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], addInt) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, addInt) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], addInt) }},
	"-": {subInt,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], subInt) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, subInt) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], subInt) }},
	"*": {mulInt,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], mulInt) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, mulInt) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], mulInt) }},
	"&": {andInt,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], andInt) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, andInt) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], andInt) }},
	"|": {orInt,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], orInt) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, orInt) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], orInt) }},
	"^": {xorInt,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], xorInt) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, xorInt) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], xorInt) }},
	"<<": {shlInt,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], shlInt) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, shlInt) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], shlInt) }},
	"==": {eqInt,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], eqInt) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, eqInt) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], eqInt) }},
	"!=": {neInt,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], neInt) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, neInt) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], neInt) }},
}

// signedBinary are the operators of i32 that u32 has otherwise.
var signedBinary = map[string]lanewise{
	">>": {shrSigned,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], shrSigned) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, shrSigned) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], shrSigned) }},
	"<": {ltSigned,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], ltSigned) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, ltSigned) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], ltSigned) }},
	">": {gtSigned,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], gtSigned) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, gtSigned) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], gtSigned) }},
	"<=": {leSigned,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], leSigned) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, leSigned) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], leSigned) }},
	">=": {geSigned,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], geSigned) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, geSigned) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], geSigned) }},
	"/": slow(func(x, y uint32) uint32 { return uint32(divide(int32(x), int32(y))) }),
	"%": slow(func(x, y uint32) uint32 { return uint32(remainder(int32(x), int32(y))) }),
}

// unsignedBinary are the operators of u32 that i32 has otherwise.
var unsignedBinary = map[string]lanewise{
	">>": {shrUnsigned,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], shrUnsigned) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, shrUnsigned) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], shrUnsigned) }},
	"<": {ltUnsigned,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], ltUnsigned) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, ltUnsigned) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], ltUnsigned) }},
	">": {gtUnsigned,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], gtUnsigned) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, gtUnsigned) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], gtUnsigned) }},
	"<=": {leUnsigned,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], leUnsigned) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, leUnsigned) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], leUnsigned) }},
	">=": {geUnsigned,
		func(d, x, y []uint32) { zip(d, x[:len(d)], y[:len(d)], geUnsigned) },
		func(d, x []uint32, y uint32) { zipRight(d, x[:len(d)], y, geUnsigned) },
		func(d []uint32, x uint32, y []uint32) { zipLeft(d, x, y[:len(d)], geUnsigned) }},
	"/": slow(func(x, y uint32) uint32 {
		if y == 0 {
			return x
		}
		return x / y
	}),
	"%": slow(func(x, y uint32) uint32 {
		if y == 0 {
			return 0
		}
		return x % y
	}),
}

func addFloat(x, y uint32) uint32 { return word(f32(x) + f32(y)) }
func subFloat(x, y uint32) uint32 { return word(f32(x) - f32(y)) }
func mulFloat(x, y uint32) uint32 { return word(f32(x) * f32(y)) }
func divFloat(x, y uint32) uint32 { return word(f32(x) / f32(y)) }
func eqFloat(x, y uint32) uint32  { return truth(f32(x) == f32(y)) }
func neFloat(x, y uint32) uint32  { return truth(f32(x) != f32(y)) }
func ltFloat(x, y uint32) uint32  { return truth(f32(x) < f32(y)) }
func gtFloat(x, y uint32) uint32  { return truth(f32(x) > f32(y)) }
func leFloat(x, y uint32) uint32  { return truth(f32(x) <= f32(y)) }
func geFloat(x, y uint32) uint32  { return truth(f32(x) >= f32(y)) }

func addInt(x, y uint32) uint32 { return x + y }
func subInt(x, y uint32) uint32 { return x - y }
func mulInt(x, y uint32) uint32 { return x * y }
func andInt(x, y uint32) uint32 { return x & y }
func orInt(x, y uint32) uint32  { return x | y }
func xorInt(x, y uint32) uint32 { return x ^ y }
func shlInt(x, y uint32) uint32 { return x << (y & 31) }
func eqInt(x, y uint32) uint32  { return truth(x == y) }
func neInt(x, y uint32) uint32  { return truth(x != y) }

func shrSigned(x, y uint32) uint32 { return uint32(int32(x) >> (y & 31)) }
func ltSigned(x, y uint32) uint32  { return truth(int32(x) < int32(y)) }
func gtSigned(x, y uint32) uint32  { return truth(int32(x) > int32(y)) }
func leSigned(x, y uint32) uint32  { return truth(int32(x) <= int32(y)) }
func geSigned(x, y uint32) uint32  { return truth(int32(x) >= int32(y)) }

func shrUnsigned(x, y uint32) uint32 { return x >> (y & 31) }
func ltUnsigned(x, y uint32) uint32  { return truth(x < y) }
func gtUnsigned(x, y uint32) uint32  { return truth(x > y) }
func leUnsigned(x, y uint32) uint32  { return truth(x <= y) }
func geUnsigned(x, y uint32) uint32  { return truth(x >= y) }

func notBool(x uint32) uint32  { return x ^ 1 }
func notInt(x uint32) uint32   { return ^x }
func negInt(x uint32) uint32   { return -x }
func negFloat(x uint32) uint32 { return x ^ 1<<31 }

// divide and remainder give what WGSL defines where the quotient is no i32:
// the dividend, and zero.
func divide(x, y int32) int32 {
	if y == 0 || y == -1 && x == math.MinInt32 {
		return x
	}
	return x / y
}

func remainder(x, y int32) int32 {
	if y == 0 || y == -1 {
		return 0
	}
	return x % y
}
