package check

import (
	"fmt"
	"math"
	"math/bits"
)

// float is the value of a floating-point word.
func float(k Kind, w uint64) float64 {
	if k == AbstractFloat {
		return math.Float64frombits(w)
	}
	return float64(math.Float32frombits(uint32(w)))
}

// floatWord rounds to a floating-point kind; finite says whether the result is
// a number that the kind has.
func floatWord(k Kind, v float64) (w uint64, finite bool) {
	switch k {
	case AbstractFloat:
		return math.Float64bits(v), !math.IsInf(v, 0) && !math.IsNaN(v)
	case F16:
		v = RoundF16(v)
	}
	f := float32(v)
	return uint64(math.Float32bits(f)), !math.IsInf(float64(f), 0) && f == f
}

// RoundF16 rounds to the nearest f16, ties to even.
func RoundF16(v float64) float64 {
	a := math.Abs(v)
	if a >= 65520 {
		return math.Copysign(math.Inf(1), v)
	}
	if a == 0 || a != a {
		return v
	}
	_, e := math.Frexp(a)
	quantum := math.Ldexp(1, max(e-11, -24))
	return math.Copysign(math.RoundToEven(a/quantum)*quantum, v)
}

// integer is the value of an integer word.
func integer(k Kind, w uint64) int64 {
	switch k {
	case I32:
		return int64(int32(w))
	case U32:
		return int64(uint32(w))
	}
	return int64(w)
}

// intWord wraps to an integer kind.
func intWord(k Kind, v int64) uint64 {
	if k == AbstractInt {
		return uint64(v)
	}
	return uint64(uint32(v))
}

func boolWord(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// show prints a word for a message.
func show(k Kind, w uint64) string {
	switch {
	case k == Bool:
		return fmt.Sprint(w != 0)
	case k == AbstractFloat, k == F32, k == F16:
		return fmt.Sprint(float(k, w))
	}
	return fmt.Sprint(integer(k, w))
}

// binary computes a constant: one operator on two words of kind k (the second
// of a shift is a u32). The string is what is wrong, or empty.
func binary(op string, k Kind, a, b uint64) (uint64, string) {
	switch op {
	case "==":
		return boolWord(a == b || isFloatKind(k) && float(k, a) == float(k, b)), ""
	case "!=":
		w, _ := binary("==", k, a, b)
		return 1 - w, ""
	case "<":
		return boolWord(less(k, a, b)), ""
	case ">":
		return boolWord(less(k, b, a)), ""
	case "<=":
		return boolWord(!less(k, b, a)), ""
	case ">=":
		return boolWord(!less(k, a, b)), ""
	}
	switch {
	case isFloatKind(k):
		return binaryFloat(op, k, a, b)
	case k == Bool:
		if op == "&" {
			return a & b, ""
		}
		return a | b, ""
	case op == "<<" || op == ">>":
		return shift(op, k, a, uint32(b))
	}
	return binaryInt(op, k, integer(k, a), integer(k, b))
}

func isFloatKind(k Kind) bool { return k == AbstractFloat || k == F32 || k == F16 }

func less(k Kind, a, b uint64) bool {
	if isFloatKind(k) {
		return float(k, a) < float(k, b)
	}
	return integer(k, a) < integer(k, b)
}

func binaryFloat(op string, k Kind, a, b uint64) (uint64, string) {
	x, y := float(k, a), float(k, b)
	var v float64
	switch op {
	case "+":
		v = x + y
	case "-":
		v = x - y
	case "*":
		v = x * y
	case "/":
		v = x / y
	case "%":
		v = math.Mod(x, y)
	}
	w, finite := floatWord(k, v)
	if !finite {
		return 0, fmt.Sprintf("'%s %s %s' cannot be represented as '%s'", show(k, a), op, show(k, b), kindName(k))
	}
	return w, ""
}

func kindName(k Kind) string {
	return [...]string{"abstract-int", "abstract-float", "bool", "i32", "u32", "f32", "f16"}[k]
}

func binaryInt(op string, k Kind, x, y int64) (uint64, string) {
	var v int64
	overflow := false
	switch op {
	case "+":
		v = x + y
		overflow = (x >= 0) == (y >= 0) && (v >= 0) != (x >= 0)
	case "-":
		v = x - y
		overflow = (x >= 0) != (y >= 0) && (v >= 0) != (x >= 0)
	case "*":
		v = x * y
		overflow = x != 0 && (v/x != y || x == -1 && y == math.MinInt64)
	case "/", "%":
		least := int64(math.MinInt64)
		if k == I32 {
			least = math.MinInt32
		}
		switch {
		case y == 0:
			return 0, divisionByZero
		case y == -1 && x == least:
			return 0, fmt.Sprintf("'%d %s %d' cannot be represented as '%s'", x, op, y, kindName(k))
		case op == "/":
			v = x / y
		default:
			v = x % y
		}
	case "&":
		v = x & y
	case "|":
		v = x | y
	case "^":
		v = x ^ y
	}
	if overflow && k == AbstractInt {
		return 0, fmt.Sprintf("'%d %s %d' cannot be represented as '%s'", x, op, y, kindName(k))
	}
	return intWord(k, v), ""
}

const divisionByZero = "integer division by zero is invalid"

// shift computes a constant shift, which may lose no bit that matters.
func shift(op string, k Kind, a uint64, by uint32) (uint64, string) {
	width := uint32(32)
	if k == AbstractInt {
		width = 64
	}
	x := integer(k, a)
	if op == ">>" {
		if by >= width && k != AbstractInt {
			return 0, tooFar("right", width)
		}
		return intWord(k, x>>min(by, 63)), ""
	}
	switch {
	case by >= width && k != AbstractInt:
		return 0, tooFar("left", width)
	case k == U32:
		if uint32(x) != 0 && bits.LeadingZeros32(uint32(x)) < int(by) {
			return 0, "shift left operation results in overflow"
		}
		return uint64(uint32(x) << by), ""
	case x == 0:
		return 0, ""
	}
	limit := int(width) - 1
	magnitude := x
	if x < 0 {
		magnitude = ^x
	}
	if bits.Len64(uint64(magnitude))+int(min(by, 64)) > limit {
		return 0, "shift left operation results in sign change"
	}
	return intWord(k, x<<by), ""
}

func tooFar(direction string, width uint32) string {
	return fmt.Sprintf("shift %s value must be less than the bit width of the lhs, which is %d", direction, width)
}

// unary computes a constant: - ! or ~ on a word.
func unary(op string, k Kind, a uint64) (uint64, string) {
	switch {
	case op == "!":
		return 1 - a, ""
	case op == "~":
		return intWord(k, ^integer(k, a)), ""
	case isFloatKind(k):
		w, _ := floatWord(k, -float(k, a))
		return w, ""
	case k == AbstractInt && integer(k, a) == math.MinInt64:
		return 0, fmt.Sprintf("'-%d' cannot be represented as 'abstract-int'", integer(k, a))
	}
	return intWord(k, -integer(k, a)), ""
}

// convert computes a constant conversion between scalars. Implicit ones, and
// those of abstract integers, keep the value or fail; others wrap, round and
// clamp, as at run time.
func convert(from, to Kind, w uint64, implicit bool) (uint64, string) {
	exact := implicit || from == AbstractInt
	bad := fmt.Sprintf("value %s cannot be represented as '%s'", show(from, w), kindName(to))
	switch {
	case from == to:
		return w, ""
	case to == Bool:
		if isFloatKind(from) {
			return boolWord(float(from, w) != 0), ""
		}
		return boolWord(integer(from, w) != 0), ""
	case isFloatKind(to):
		v := float64(integer(from, w))
		if isFloatKind(from) {
			v = float(from, w)
		}
		r, finite := floatWord(to, v)
		if !finite {
			return 0, bad
		}
		return r, ""
	case isFloatKind(from):
		v := math.Trunc(float(from, w))
		low, high := intRange(to)
		if exact && (v < low || v > high) {
			return 0, bad
		}
		if from != AbstractFloat {
			high = (high + 1) * (1 - 0x1p-24) // the largest that both kinds have
		}
		return intWord(to, int64(min(max(v, low), high))), ""
	}
	v := integer(from, w)
	if low, high := intRange(to); exact && (float64(v) < low || float64(v) > high) {
		return 0, bad
	}
	return intWord(to, v), ""
}

func intRange(k Kind) (low, high float64) {
	switch k {
	case I32:
		return math.MinInt32, math.MaxInt32
	case U32:
		return 0, math.MaxUint32
	}
	return math.MinInt64, math.MaxInt64
}
