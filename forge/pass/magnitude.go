package pass

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// magnitude is what is known of all elements of a value, whatever the program is given:
// no element that is a number is larger than limit, in either direction.
type magnitude struct {
	limit float64 // +Inf when an element may be infinite or nothing is known
	nan   bool    // an element may be NaN
}

var unknownMagnitude = magnitude{math.Inf(1), true}

// isNumbers reports whether every element is a finite number.
func (m magnitude) isNumbers() bool { return !m.nan && !math.IsInf(m.limit, 0) }

// magnitudes finds what is known of values, from the constants and the norms that
// they are made of: a norm gives small numbers or NaN whatever it reads, and an
// embedding gives what its table holds. Rewrites keep what was found.
type magnitudes map[*ir.Value]magnitude

// roundingSlack is more than the roundings of an operator can add to a magnitude,
// sums of up to 2^22 terms included.
const roundingSlack = 2

// leastEps is an eps below which a norm is not bounded: squares that vanish in
// float32 must be small beside it.
const leastEps = 1e-12

func (ms magnitudes) of(v *ir.Value) magnitude {
	if m, ok := ms[v]; ok {
		return m
	}
	m := unknownMagnitude
	if v.Def != nil {
		m = ms.result(v.Def)
	}
	if !(m.limit <= mostOf(v.Spec.DType)) {
		m.limit = math.Inf(1)
	}
	ms[v] = m
	return m
}

// mostOf is the largest finite number of a type that analyses are about, or 0.
func mostOf(d tensor.DType) float64 {
	switch d {
	case tensor.F32:
		return math.MaxFloat32
	case tensor.F64:
		return math.MaxFloat64
	}
	return 0
}

func (ms magnitudes) result(n *ir.Node) magnitude {
	switch n.Op.Name {
	case "const":
		return held(n.Tensor("value"))
	case "gather", "reshape", "transpose", "narrow", "split", "expand", "neg", "abs", "relu":
		return ms.of(n.In[0])
	case "gelu", "silu":
		m := ms.of(n.In[0])
		return magnitude{m.limit, m.nan || math.IsInf(m.limit, 0)} // -Inf times 0
	case "tanh", "sigmoid":
		return magnitude{roundingSlack, ms.of(n.In[0]).nan}
	case "concat", "maximum", "minimum":
		return ms.largest(n.In)
	case "where":
		return ms.largest(n.In[1:])
	case "add", "sub":
		a, b := ms.of(n.In[0]), ms.of(n.In[1])
		return magnitude{(a.limit + b.limit) * (1 + 0x1p-20), a.nan || b.nan || math.IsInf(a.limit, 0) && math.IsInf(b.limit, 0)}
	case "mul":
		return ms.products(1, n.In)
	case "matmul", "linear":
		return ms.product(n)
	case "layer_norm", "rms_norm":
		return ms.norm(n)
	case "softmax":
		m := ms.of(n.In[0])
		return magnitude{roundingSlack, !m.isNumbers()}
	case "sdpa":
		return ms.attention(n)
	}
	return unknownMagnitude
}

// held is the magnitude of a constant.
func held(t *tensor.Tensor) magnitude {
	m := magnitude{}
	for i := range t.Len() {
		x := t.Elem(i)
		m.nan = m.nan || x != x
		m.limit = max(m.limit, math.Abs(x))
		if x != x {
			m.limit = math.Inf(1) // max gives NaN from here on
			break
		}
	}
	return m
}

func (ms magnitudes) largest(list []*ir.Value) magnitude {
	m := magnitude{}
	for _, v := range list {
		one := ms.of(v)
		m = magnitude{max(m.limit, one.limit), m.nan || one.nan}
	}
	return m
}

// products bounds sums of terms products of elements of the operands.
func (ms magnitudes) products(terms int, factors []*ir.Value) magnitude {
	m := magnitude{limit: roundingSlack * float64(terms)}
	for _, v := range factors {
		one := ms.of(v)
		if !one.isNumbers() {
			m.nan = true
		}
		m.limit *= one.limit // 0 * Inf is NaN, which is no limit
	}
	m.nan = m.nan || math.IsInf(m.limit, 0)
	return m
}

// product bounds matmul and linear. No activation makes a magnitude larger.
func (ms magnitudes) product(n *ir.Node) magnitude {
	terms := n.In[0].Spec.Shape[n.In[0].Spec.Rank()-1]
	if terms > 1<<22 {
		return unknownMagnitude
	}
	m := ms.products(max(1, terms), n.In[:2])
	for _, v := range n.In[2:] {
		one := ms.of(v)
		m = magnitude{roundingSlack * (m.limit + one.limit), m.nan || !one.isNumbers()}
	}
	return m
}

// norm bounds norms of n elements: each is at most the root of the sum of their
// squares, which is sqrt(n) times what it is divided by. An infinite element, or a sum
// that overflows, gives zeros or NaN.
func (ms magnitudes) norm(n *ir.Node) magnitude {
	x := n.In[0].Spec
	count := 1.0
	for _, d := range x.Shape[axisOf(n.Int("axis"), x.Rank()):] {
		count *= float64(d)
	}
	if n.Float("eps") < leastEps || count > 1<<22 {
		return unknownMagnitude
	}
	in := ms.of(n.In[0])
	m := magnitude{roundingSlack * math.Sqrt(count), in.nan || !(roundingSlack*count*in.limit < mostOf(x.DType))}
	if len(n.In) > 1 {
		one := ms.of(n.In[1])
		m = magnitude{m.limit * one.limit, m.nan || !one.isNumbers()}
	}
	if len(n.In) > 2 {
		one := ms.of(n.In[2])
		m = magnitude{roundingSlack * (m.limit + one.limit), m.nan || !one.isNumbers()}
	}
	return m
}

// attention bounds averages of values. A query that attends to nothing gives NaN when
// strict, zeros when not.
func (ms magnitudes) attention(n *ir.Node) magnitude {
	q, k, v := ms.of(n.In[0]), ms.of(n.In[1]), ms.of(n.In[2])
	scores := float64(n.In[0].Spec.Shape[3]) * q.limit * k.limit * roundingSlack * max(1, n.Float("scale"))
	numbers := q.isNumbers() && k.isNumbers() && v.isNumbers() && scores < mostOf(n.Out[0].Spec.DType)
	return magnitude{roundingSlack * v.limit, !numbers || len(n.In) > 3}
}
