package symbolic

import (
	"errors"
	"fmt"
	"math/big"
)

// Limits of the numbers.
const (
	MaxBits     = 1024 // of a numerator or denominator
	MaxExponent = 64
)

var errZero = errors.New("division by zero")

// function computes a result; the least number of operands comes first.
type function struct {
	min, max int // operands
	of       func(a []*big.Rat) (*big.Rat, error)
}

const many = 1 << 20

// functions are those of SymPy and of the exporter, by name. Comparisons give 1 or 0.
var functions = map[string]function{
	"Add": {1, many, fold((*big.Rat).Add)}, "Mul": {1, many, fold((*big.Rat).Mul)}, "Sub": {2, 2, fold((*big.Rat).Sub)},
	"Max": {1, many, extreme(1)}, "Min": {1, many, extreme(-1)},
	"Pow": {2, 2, pow}, "PowByNatural": {2, 2, pow}, "FloatPow": {2, 2, pow},
	"FloorDiv": {2, 2, floorDiv}, "CleanDiv": {2, 2, floorDiv}, "CeilDiv": {2, 2, ceilDiv},
	"IntTrueDiv": {2, 2, quotient}, "FloatTrueDiv": {2, 2, quotient}, "Rational": {2, 2, quotient},
	"Mod": {2, 2, mod}, "PythonMod": {2, 2, mod}, "ModularIndexing": {3, 3, modularIndexing},
	"ToFloat": {1, 1, same}, "Identity": {1, 1, same}, "Integer": {1, 1, same}, "Float": {1, 1, same}, "Abs": {1, 1, abs}, "Neg": {1, 1, negate},
	"floor": {1, 1, floor}, "FloorToInt": {1, 1, floor}, "ceiling": {1, 1, ceil}, "CeilToInt": {1, 1, ceil},
	"TruncToInt": {1, 1, truncate}, "TruncToFloat": {1, 1, truncate}, "RoundToInt": {1, 1, round},
	"StrictLessThan": {2, 2, compare(func(c int) bool { return c < 0 })}, "LessThan": {2, 2, compare(func(c int) bool { return c <= 0 })},
	"StrictGreaterThan": {2, 2, compare(func(c int) bool { return c > 0 })}, "GreaterThan": {2, 2, compare(func(c int) bool { return c >= 0 })},
	"Equality": {2, 2, compare(func(c int) bool { return c == 0 })}, "Unequality": {2, 2, compare(func(c int) bool { return c != 0 })},
	"And": {1, many, extreme(-1)}, "Or": {1, many, extreme(1)}, "Not": {1, 1, not}, "Where": {3, 3, choose},
}

// Apply computes a function of numbers, such as FloorDiv.
func Apply(name string, args ...*big.Rat) (*big.Rat, error) {
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("the function %s is not supported", name)
	}
	if len(args) < f.min || len(args) > f.max {
		return nil, fmt.Errorf("%s has %d operands", name, len(args))
	}
	v, err := f.of(args)
	if err == nil && max(v.Num().BitLen(), v.Denom().BitLen()) > MaxBits {
		return nil, fmt.Errorf("the result has more than %d bits", MaxBits)
	}
	return v, err
}

func fold(op func(z, x, y *big.Rat) *big.Rat) func([]*big.Rat) (*big.Rat, error) {
	return func(a []*big.Rat) (*big.Rat, error) {
		v := a[0]
		for _, x := range a[1:] {
			v = op(new(big.Rat), v, x)
			if max(v.Num().BitLen(), v.Denom().BitLen()) > MaxBits {
				break
			}
		}
		return v, nil
	}
}

func extreme(sign int) func([]*big.Rat) (*big.Rat, error) {
	return func(a []*big.Rat) (*big.Rat, error) {
		v := a[0]
		for _, x := range a[1:] {
			if x.Cmp(v) == sign {
				v = x
			}
		}
		return v, nil
	}
}

// pow has a whole exponent.
func pow(a []*big.Rat) (*big.Rat, error) {
	if !a[1].IsInt() || !a[1].Num().IsInt64() || a[1].Num().Int64() > MaxExponent || a[1].Num().Int64() < -MaxExponent {
		return nil, fmt.Errorf("the exponent is %s; whole ones up to %d are supported", a[1].RatString(), MaxExponent)
	}
	n := a[1].Num().Int64()
	v := big.NewRat(1, 1)
	for range max(n, -n) {
		v.Mul(v, a[0])
	}
	if n >= 0 {
		return v, nil
	}
	return quotient([]*big.Rat{big.NewRat(1, 1), v})
}

func quotient(a []*big.Rat) (*big.Rat, error) {
	if a[1].Sign() == 0 {
		return nil, errZero
	}
	return new(big.Rat).Quo(a[0], a[1]), nil
}

func floorDiv(a []*big.Rat) (*big.Rat, error) {
	q, err := quotient(a)
	if err != nil {
		return nil, err
	}
	return floor([]*big.Rat{q})
}

func ceilDiv(a []*big.Rat) (*big.Rat, error) {
	q, err := quotient(a)
	if err != nil {
		return nil, err
	}
	return ceil([]*big.Rat{q})
}

// mod has the sign of the divisor, as Python's.
func mod(a []*big.Rat) (*big.Rat, error) {
	q, err := floorDiv(a)
	if err != nil {
		return nil, err
	}
	return new(big.Rat).Sub(a[0], q.Mul(q, a[1])), nil
}

func modularIndexing(a []*big.Rat) (*big.Rat, error) {
	q, err := floorDiv(a[:2])
	if err != nil {
		return nil, err
	}
	return mod([]*big.Rat{q, a[2]})
}

func same(a []*big.Rat) (*big.Rat, error)   { return a[0], nil }
func abs(a []*big.Rat) (*big.Rat, error)    { return new(big.Rat).Abs(a[0]), nil }
func negate(a []*big.Rat) (*big.Rat, error) { return new(big.Rat).Neg(a[0]), nil }

// floor divides by the denominator, which is positive, as Euclid does.
func floor(a []*big.Rat) (*big.Rat, error) {
	q, _ := new(big.Int).DivMod(a[0].Num(), a[0].Denom(), new(big.Int))
	return new(big.Rat).SetInt(q), nil
}

func ceil(a []*big.Rat) (*big.Rat, error) {
	v, err := floor([]*big.Rat{new(big.Rat).Neg(a[0])})
	return v.Neg(v), err
}

func truncate(a []*big.Rat) (*big.Rat, error) {
	if a[0].Sign() < 0 {
		return ceil(a)
	}
	return floor(a)
}

// round goes to the nearest integer, of two to the even one.
func round(a []*big.Rat) (*big.Rat, error) {
	half := big.NewRat(1, 2)
	v, err := floor([]*big.Rat{new(big.Rat).Add(a[0], half)})
	if err == nil && new(big.Rat).Sub(v, a[0]).Cmp(half) == 0 && v.Num().Bit(0) == 1 {
		v.Sub(v, big.NewRat(1, 1))
	}
	return v, err
}

func compare(holds func(int) bool) func([]*big.Rat) (*big.Rat, error) {
	return func(a []*big.Rat) (*big.Rat, error) { return truth(holds(a[0].Cmp(a[1]))), nil }
}

func truth(b bool) *big.Rat {
	if b {
		return big.NewRat(1, 1)
	}
	return new(big.Rat)
}

func not(a []*big.Rat) (*big.Rat, error) { return truth(a[0].Sign() == 0), nil }

func choose(a []*big.Rat) (*big.Rat, error) {
	if a[0].Sign() != 0 {
		return a[1], nil
	}
	return a[2], nil
}
