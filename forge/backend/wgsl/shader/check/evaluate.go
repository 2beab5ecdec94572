package check

import (
	"fmt"
	"math"
)

// Evaluate computes an expression from the words of its arguments. The string
// is what is wrong with them, or empty; the words are good in either case
// where the expression has a defined result at run time.
func Evaluate(x *Expr, args [][]uint64) ([]uint64, string) {
	switch x.Op {
	case Const:
		return x.Words, ""
	case Unary:
		k := x.Type.Scalar().Kind
		return each(args[0], func(w uint64) (uint64, string) { return unary(x.Name, k, w) })
	case Binary:
		return evaluateBinary(x, args[0], args[1])
	case Logical:
		if x.Name == "&&" {
			return []uint64{args[0][0] & args[1][0]}, ""
		}
		return []uint64{args[0][0] | args[1][0]}, ""
	case Convert:
		from, to := x.Args[0].Type.Scalar().Kind, x.Type.Scalar().Kind
		return each(args[0], func(w uint64) (uint64, string) { return convert(from, to, w, false) })
	case Compose:
		words := make([]uint64, 0, x.Type.Words)
		for _, a := range args {
			words = append(words, a...)
		}
		return words, ""
	case Swizzle:
		words := make([]uint64, len(x.Pick))
		for i, p := range x.Pick {
			words[i] = args[0][p]
		}
		return words, ""
	case Index:
		i := integer(x.Args[1].Type.Kind, args[1][0])
		n := int64(x.Type.Words)
		if i < 0 || i >= int64(len(args[0]))/n {
			return make([]uint64, n), fmt.Sprintf("index %d out of bounds", i)
		}
		return args[0][i*n : (i+1)*n], ""
	case Member:
		f := x.Args[0].Type.Fields[x.N]
		return args[0][f.Slot : f.Slot+f.Type.Words], ""
	case Bitcast:
		return bitcast(x.Type, x.Args[0].Type, args[0])
	case Builtin:
		return evaluateBuiltin(x, args)
	}
	panic("check: expression has no constant value")
}

// Resolve computes an override expression from the values of the overrides.
func (x *Expr) Resolve(overrides map[*Var][]uint64) ([]uint64, string) {
	if x.Op == Override {
		if words := overrides[x.Var]; words != nil {
			return words, ""
		}
		return []uint64{0}, "override '" + x.Var.Name + "' has no value"
	}
	args := make([][]uint64, len(x.Args))
	for i, a := range x.Args {
		words, wrong := a.Resolve(overrides)
		if wrong != "" {
			return words, wrong
		}
		args[i] = words
		if x.Op == Logical && i == 0 && (words[0] == 0) == (x.Name == "&&") {
			return words, ""
		}
	}
	return Evaluate(x, args)
}

// each maps words; the first thing wrong is told.
func each(words []uint64, f func(uint64) (uint64, string)) ([]uint64, string) {
	r, wrong := make([]uint64, len(words)), ""
	for i, w := range words {
		v, bad := f(w)
		if r[i] = v; wrong == "" {
			wrong = bad
		}
	}
	return r, wrong
}

func evaluateBinary(x *Expr, a, b []uint64) ([]uint64, string) {
	xt, yt := x.Args[0].Type, x.Args[1].Type
	k := xt.Scalar().Kind
	if x.Name == "*" && !xt.isScalar() && !yt.isScalar() && (xt.Kind == Mat || yt.Kind == Mat) {
		return product(k, a, b, xt, yt)
	}
	r, wrong := make([]uint64, x.Type.Words), ""
	for i := range r {
		v, bad := binary(x.Name, k, a[min(i, len(a)-1)], b[min(i, len(b)-1)])
		if r[i] = v; wrong == "" {
			wrong = bad
		}
	}
	return r, wrong
}

// Product gives the shape of a matrix product: columns of the result, rows of
// the result, and how many terms each component sums.
func Product(x, y *Type) (columns, rows, terms int) {
	columns, rows = 1, 1
	if x.Kind == Mat {
		rows, terms = x.Rows, x.N
	} else {
		terms = x.N
	}
	if y.Kind == Mat {
		columns = y.N
	}
	return columns, rows, terms
}

func product(k Kind, a, b []uint64, xt, yt *Type) ([]uint64, string) {
	columns, rows, terms := Product(xt, yt)
	r := make([]uint64, columns*rows)
	for c := range columns {
		for row := range rows {
			x, y := make([]uint64, terms), b[c*terms:(c+1)*terms]
			for i := range x {
				x[i] = a[i*rows+row]
			}
			w, wrong := dot(k, x, y)
			if wrong != "" {
				return r, wrong
			}
			r[c*rows+row] = w
		}
	}
	return r, ""
}

func dot(k Kind, a, b []uint64) (uint64, string) {
	sum, wrong := binary("*", k, a[0], b[0])
	for i := 1; i < len(a) && wrong == ""; i++ {
		var p uint64
		if p, wrong = binary("*", k, a[i], b[i]); wrong == "" {
			sum, wrong = binary("+", k, sum, p)
		}
	}
	return sum, wrong
}

// bitcast keeps the bits: f16 components are two bytes, all others four.
func bitcast(to, from *Type, words []uint64) ([]uint64, string) {
	var halves []uint16
	for _, w := range words {
		if from.Scalar() == f16 {
			halves = append(halves, HalfBits(math.Float32frombits(uint32(w))))
		} else {
			halves = append(halves, uint16(w), uint16(w>>16))
		}
	}
	r := make([]uint64, to.Words)
	for i := range r {
		if to.Scalar() == f16 {
			r[i] = uint64(math.Float32bits(HalfValue(halves[i])))
			continue
		}
		r[i] = uint64(halves[2*i]) | uint64(halves[2*i+1])<<16
		if to.Scalar() == f32 {
			if f := math.Float32frombits(uint32(r[i])); f != f || math.IsInf(float64(f), 0) {
				return r, "value " + fmt.Sprint(f) + " cannot be represented as 'f32'"
			}
		}
	}
	return r, ""
}

// HalfBits is the nearest f16 to v, ties to even, as its bits.
func HalfBits(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b>>16) & 0x8000
	if v != v {
		return sign | 0x7e00 | uint16(b>>13)&0x3ff
	}
	a := math.Abs(RoundF16(float64(v)))
	switch {
	case math.IsInf(a, 0):
		return sign | 0x7c00
	case a < 0x1p-14:
		return sign | uint16(a*0x1p24)
	}
	m := math.Float32bits(float32(a))
	return sign | uint16((m>>23-112)<<10) | uint16(m>>13)&0x3ff
}

// HalfValue is the value of an f16's bits.
func HalfValue(h uint16) float32 {
	sign, e, m := uint32(h&0x8000)<<16, uint32(h>>10&31), uint32(h&0x3ff)
	switch e {
	case 0:
		v := math.Float32bits(float32(m) * 0x1p-24)
		return math.Float32frombits(sign | v)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | m<<13)
	}
	return math.Float32frombits(sign | (e+112)<<23 | m<<13)
}
