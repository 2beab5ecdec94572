package pass

import (
	"math/rand/v2"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// steps builds patterns that passes look for. A step that does not type-check
// gives the operand back, so that broken patterns come up as well.
type steps struct {
	b   *ir.Builder
	rng *rand.Rand
}

func (s *steps) op(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	v, err := s.b.Apply(name, attrs, in...)
	if err != nil {
		return in[0]
	}
	return v
}

func (s *steps) scalar(like *ir.Value, c float64) *ir.Value {
	v, err := s.b.Scalar(like.Spec.DType, c)
	if err != nil {
		return like
	}
	return v
}

// weight is a constant matrix with as many rows as v has columns.
func (s *steps) weight(v *ir.Value, shape ...int) *ir.Value {
	t, err := tensor.Zeros(v.Spec.DType, shape...)
	if err != nil || !v.Spec.DType.IsFloat() {
		return v
	}
	for i := range t.Len() {
		setElem(t, i, float64(s.rng.IntN(9))/4-1)
	}
	w, err := s.b.Const(t)
	if err != nil {
		return v
	}
	return w
}

func (s *steps) columns(v *ir.Value) int {
	if v.Spec.Rank() == 0 {
		return 1
	}
	return v.Spec.Shape[v.Spec.Rank()-1]
}

// maybe also returns an inner value, so that something else may read it.
func (s *steps) maybe(result *ir.Value, inner ...*ir.Value) []*ir.Value {
	if s.rng.IntN(4) == 0 {
		return append(inner, result)
	}
	return []*ir.Value{result}
}

var idioms = []func(s *steps, x *ir.Value) []*ir.Value{
	func(s *steps, x *ir.Value) []*ir.Value { // layer
		n := 1 + s.rng.IntN(4)
		product := s.op("matmul", nil, x, s.weight(x, s.columns(x), n))
		biased := s.op("add", nil, product, s.weight(x, n))
		act := s.op([]string{"relu", "gelu", "silu", "tanh"}[s.rng.IntN(4)], nil, biased)
		return s.maybe(act, product, biased)
	},
	func(s *steps, x *ir.Value) []*ir.Value { // projections of one value
		var list []*ir.Value
		for range 1 + s.rng.IntN(3) {
			n := 1 + s.rng.IntN(3)
			if w := s.weight(x, s.columns(x), n); s.rng.IntN(2) == 0 {
				list = append(list, s.op("matmul", nil, x, w))
			} else {
				list = append(list, s.op("linear", nil, x, w, s.weight(x, n)))
			}
		}
		return append(list, s.op("abs", nil, list[0]))
	},
	func(s *steps, x *ir.Value) []*ir.Value { // softmax
		axis := []int{s.rng.IntN(max(1, x.Spec.Rank()))}
		top := s.op("max", ir.Attrs{"axes": axis, "keepdims": true}, x)
		exp := s.op("exp", nil, s.op("sub", nil, x, top))
		sum := s.op("sum", ir.Attrs{"axes": axis, "keepdims": true}, exp)
		return s.maybe(s.op("div", nil, exp, sum), top, exp)
	},
	func(s *steps, x *ir.Value) []*ir.Value { // norm
		mean := func(v *ir.Value) *ir.Value { return s.op("mean", ir.Attrs{"axes": []int{-1}, "keepdims": true}, v) }
		d := x
		if s.rng.IntN(2) == 0 {
			d = s.op("sub", nil, x, mean(x))
		}
		ms := mean(s.op("mul", nil, d, d))
		r := s.op("rsqrt", nil, s.op("add", nil, ms, s.scalar(x, 0.125)))
		y := s.op("mul", nil, d, r)
		return s.maybe(s.op("mul", nil, y, s.weight(x, s.columns(x))), ms, y)
	},
	func(s *steps, x *ir.Value) []*ir.Value { // views among elementwise nodes
		a := s.op("exp", nil, x)
		b := s.op("transpose", nil, a)
		c := s.op("reshape", ir.Attrs{"shape": []int{-1}}, s.op("neg", nil, b))
		return s.maybe(s.op("tanh", nil, s.op("mul", nil, c, s.scalar(c, 0.5))), a, b, c)
	},
	func(s *steps, x *ir.Value) []*ir.Value { // attention over the last two dimensions
		four := s.op("reshape", ir.Attrs{"shape": []int{1, 1, -1, 2}}, x)
		scores := s.op("matmul", nil, four, s.op("transpose", ir.Attrs{"perm": []int{0, 1, 3, 2}}, four))
		weights := s.op("softmax", nil, s.op("mul", nil, scores, s.scalar(x, 0.75)))
		return s.maybe(s.op("matmul", nil, weights, four), scores, weights)
	},
	func(s *steps, x *ir.Value) []*ir.Value { // a cache that is copied, taken over and read
		cache := s.op("reshape", ir.Attrs{"shape": []int{1, 1, -1, 1}}, s.op("mul", nil, x, s.scalar(x, 1)))
		token := s.op("narrow", ir.Attrs{"axis": 2, "start": 0, "length": 1}, s.op("exp", nil, cache))
		t, err := tensor.Zeros(tensor.I64)
		if err != nil {
			return nil
		}
		pos, err := s.b.Const(t)
		if err != nil {
			return nil
		}
		return []*ir.Value{s.op("tanh", nil, token), s.op("neg", nil, s.op("kv_append", nil, cache, token, pos))}
	},
}
