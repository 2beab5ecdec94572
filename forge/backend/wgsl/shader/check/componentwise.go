package check

import (
	"math"
	"math/bits"
)

// A Componentwise builtin applies one function to each component of its
// arguments, which all have the type of the result. Exactly one of the two
// functions is there for a kind of number that the builtin does not take.
type Componentwise struct {
	Args int
	// Float computes in float64; the caller rounds to the type.
	Float func(x, y, z float64) float64
	// Int computes on the values of words of kind k; the caller wraps.
	Int func(k Kind, x, y, z int64) int64
	// bits says that Int takes i32 and u32 but no abstract numbers.
	bits bool
	// signed says that Int does not take u32.
	signed bool
}

func one(f func(float64) float64) Componentwise {
	return Componentwise{Args: 1, Float: func(x, _, _ float64) float64 { return f(x) }}
}

func two(f func(x, y float64) float64) Componentwise {
	return Componentwise{Args: 2, Float: func(x, y, _ float64) float64 { return f(x, y) }}
}

func bitwise(f func(k Kind, x uint32) int64) Componentwise {
	return Componentwise{Args: 1, bits: true, Int: func(k Kind, x, _, _ int64) int64 { return f(k, uint32(x)) }}
}

// Components are the componentwise builtin functions by name.
var Components = map[string]Componentwise{
	"acos": one(math.Acos), "acosh": one(math.Acosh), "asin": one(math.Asin), "asinh": one(math.Asinh),
	"atan": one(math.Atan), "atanh": one(math.Atanh), "atan2": two(math.Atan2), "ceil": one(math.Ceil),
	"cos": one(math.Cos), "cosh": one(math.Cosh), "exp": one(math.Exp), "exp2": one(math.Exp2),
	"floor": one(math.Floor), "log": one(math.Log), "log2": one(math.Log2), "pow": two(math.Pow),
	"round": one(math.RoundToEven), "sin": one(math.Sin), "sinh": one(math.Sinh), "sqrt": one(math.Sqrt),
	"tan": one(math.Tan), "tanh": one(math.Tanh), "trunc": one(math.Trunc),
	"degrees":       one(func(x float64) float64 { return x * 180 / math.Pi }),
	"radians":       one(func(x float64) float64 { return x * math.Pi / 180 }),
	"fract":         one(func(x float64) float64 { return x - math.Floor(x) }),
	"inverseSqrt":   one(func(x float64) float64 { return 1 / math.Sqrt(x) }),
	"saturate":      one(func(x float64) float64 { return least(most(x, 0), 1) }),
	"quantizeToF16": one(RoundF16),
	"step": two(func(edge, x float64) float64 {
		if edge <= x {
			return 1
		}
		return 0
	}),
	"fma": {Args: 3, Float: math.FMA},
	"mix": {Args: 3, Float: func(x, y, z float64) float64 { return x*(1-z) + y*z }},
	"smoothstep": {Args: 3, Float: func(low, high, x float64) float64 {
		t := least(most((x-low)/(high-low), 0), 1)
		return t * t * (3 - 2*t)
	}},
	"abs": {Args: 1, Float: func(x, _, _ float64) float64 { return math.Abs(x) },
		Int: func(_ Kind, x, _, _ int64) int64 { return max(x, -x) }},
	"sign": {Args: 1, signed: true, Float: func(x, _, _ float64) float64 {
		if x > 0 {
			return 1
		} else if x < 0 {
			return -1
		}
		return x
	}, Int: func(_ Kind, x, _, _ int64) int64 { return int64(sign(x)) }},
	"min": {Args: 2, Float: func(x, y, _ float64) float64 { return least(x, y) },
		Int: func(_ Kind, x, y, _ int64) int64 { return min(x, y) }},
	"max": {Args: 2, Float: func(x, y, _ float64) float64 { return most(x, y) },
		Int: func(_ Kind, x, y, _ int64) int64 { return max(x, y) }},
	"clamp": {Args: 3, Float: func(x, low, high float64) float64 { return least(most(x, low), high) },
		Int: func(_ Kind, x, low, high int64) int64 { return min(max(x, low), high) }},
	"countLeadingZeros":  bitwise(func(_ Kind, x uint32) int64 { return int64(bits.LeadingZeros32(x)) }),
	"countTrailingZeros": bitwise(func(_ Kind, x uint32) int64 { return int64(bits.TrailingZeros32(x)) }),
	"countOneBits":       bitwise(func(_ Kind, x uint32) int64 { return int64(bits.OnesCount32(x)) }),
	"reverseBits":        bitwise(func(_ Kind, x uint32) int64 { return int64(bits.Reverse32(x)) }),
	"firstLeadingBit":    bitwise(firstLeadingBit),
	"firstTrailingBit": bitwise(func(_ Kind, x uint32) int64 {
		if x == 0 {
			return -1
		}
		return int64(bits.TrailingZeros32(x))
	}),
}

func sign(x int64) int {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// least and most are min and max where a NaN gives way to a number, as the
// minimum and maximum of IEEE 754-2008 do.
func least(x, y float64) float64 {
	if y < x || x != x {
		return y
	}
	return x
}

func most(x, y float64) float64 {
	if y > x || x != x {
		return y
	}
	return x
}

func firstLeadingBit(k Kind, x uint32) int64 {
	if k == I32 && int32(x) < 0 {
		x = ^x
	}
	return int64(bits.Len32(x)) - 1
}

// domain refuses constant arguments for which a builtin has no value.
func domain(name string, x, y, z float64) string {
	switch name {
	case "acosh":
		if x < 1 {
			return "acosh must be called with a value >= 1.0"
		}
	case "sqrt", "log", "log2", "inverseSqrt":
		if x < 0 || x == 0 && name != "sqrt" {
			return name + " must be called with a value > 0"
		}
	case "acos", "asin", "atanh":
		if math.Abs(x) > 1 || name == "atanh" && math.Abs(x) == 1 {
			return name + " must be called with a value in the range [-1 .. 1]"
		}
	case "clamp":
		if y > z {
			return "clamp called with 'low' greater than 'high'"
		}
	case "smoothstep":
		if x >= y {
			return "smoothstep called with 'low' not less than 'high'"
		}
	}
	return ""
}
