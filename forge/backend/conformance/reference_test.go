package conformance

import (
	"math"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/audit/bound"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// The reference itself is compared with an oracle that shares no code with it:
// one element at a time, by index, straight from the definition.

// scalars are the definitions of the elementwise operators.
var scalars = map[string]func(x ...float64) float64{
	"add":     func(x ...float64) float64 { return x[0] + x[1] },
	"sub":     func(x ...float64) float64 { return x[0] - x[1] },
	"mul":     func(x ...float64) float64 { return x[0] * x[1] },
	"div":     func(x ...float64) float64 { return x[0] / x[1] },
	"maximum": func(x ...float64) float64 { return larger(x[0], x[1]) },
	"minimum": func(x ...float64) float64 { return -larger(-x[0], -x[1]) },
	"neg":     func(x ...float64) float64 { return -x[0] },
	"abs":     func(x ...float64) float64 { return math.Abs(x[0]) },
	"sqrt":    func(x ...float64) float64 { return math.Sqrt(x[0]) },
	"exp":     func(x ...float64) float64 { return math.Exp(x[0]) },
	"log":     func(x ...float64) float64 { return math.Log(x[0]) },
	"tanh":    func(x ...float64) float64 { return math.Tanh(x[0]) },
	"sigmoid": func(x ...float64) float64 { return 1 / (1 + math.Exp(-x[0])) },
	"relu":    func(x ...float64) float64 { return larger(x[0], 0) },
	"rsqrt":   func(x ...float64) float64 { return 1 / math.Sqrt(x[0]) },
	"sin":     func(x ...float64) float64 { return math.Sin(x[0]) },
	"cos":     func(x ...float64) float64 { return math.Cos(x[0]) },
	"atan":    func(x ...float64) float64 { return math.Atan(x[0]) },
	"floor":   func(x ...float64) float64 { return math.Floor(x[0]) },
	"ceil":    func(x ...float64) float64 { return math.Ceil(x[0]) },
	"round":   func(x ...float64) float64 { return math.RoundToEven(x[0]) },
	"erf":     func(x ...float64) float64 { return math.Erf(x[0]) },
	"pow":     func(x ...float64) float64 { return math.Pow(x[0], x[1]) },
	"silu":    siluOracle,
	"eq":      func(x ...float64) float64 { return truth(x[0] == x[1]) },
	"ne":      func(x ...float64) float64 { return truth(x[0] != x[1]) },
	"lt":      func(x ...float64) float64 { return truth(x[0] < x[1]) },
	"le":      func(x ...float64) float64 { return truth(x[0] <= x[1]) },
	"gt":      func(x ...float64) float64 { return truth(x[0] > x[1]) },
	"ge":      func(x ...float64) float64 { return truth(x[0] >= x[1]) },
	"and":     func(x ...float64) float64 { return x[0] * x[1] },
	"or":      func(x ...float64) float64 { return math.Max(x[0], x[1]) },
	"not":     func(x ...float64) float64 { return 1 - x[0] },
	"where":   func(x ...float64) float64 { return x[1+int(1-x[0])] },
	"fused":   func(x ...float64) float64 { return larger(x[0]+x[1], x[2]) * x[2] },
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func siluOracle(x ...float64) float64 {
	if math.IsInf(x[0], -1) {
		return 0 // the limit; the formula is -inf * 0
	}
	return x[0] / (1 + math.Exp(-x[0]))
}

// larger propagates NaN. math.Max does not beside an infinity.
func larger(a, b float64) float64 {
	if a != a || b != b {
		return math.NaN()
	}
	return math.Max(a, b)
}

// geluOracle takes the limit at -inf, where the formula is -inf * 0.
func geluOracle(x float64, approximate string) float64 {
	switch {
	case math.IsInf(x, -1):
		return 0
	case approximate == "tanh":
		return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*math.Pow(x, 3))))
	}
	return 0.5 * x * (1 + math.Erf(x/math.Sqrt2))
}

// at reads an element, repeating dimensions of length 1 and leaving out leading
// ones, as broadcasting does.
func at(t *tensor.Tensor, index []int) float64 {
	own := slices.Clone(index[len(index)-t.Rank():])
	for i := range own {
		if t.Dim(i) == 1 {
			own[i] = 0
		}
	}
	return t.At(own...)
}

// indices yields every index of a shape in row-major order, in one slice.
func indices(shape []int, yield func([]int)) {
	index := make([]int, len(shape))
	if n, err := tensor.Elements(shape); err != nil || n == 0 {
		return
	}
	for {
		yield(index)
		d := len(shape) - 1
		for ; d >= 0; d-- {
			if index[d]++; index[d] < shape[d] {
				break
			}
			index[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// oracle computes one element of result k of a node.
func oracle(n *ir.Node, k int, in []*tensor.Tensor, index []int) float64 {
	if f := definitions[n.Op.Name]; f != nil {
		return f(n, k, in, index)
	}
	if f := networkOracles[n.Op.Name]; f != nil {
		return f(n, in, index)
	}
	switch n.Op.Name {
	case "const":
		return n.Tensor("value").At(index...)
	case "matmul":
		a, b := in[0], in[1]
		last := len(index) - 1
		sum := 0.0
		for k := range a.Dim(-1) {
			ia, ib := slices.Clone(index), slices.Clone(index)
			ia[last], ib[last-1] = k, k
			sum += matrixAt(a, ia) * matrixAt(b, ib)
		}
		if sum = activationOracle(n, sum); len(in) > 2 {
			sum += in[2].At(index...)
		}
		return sum
	case "sum", "mean", "max", "min", "prod":
		return reductionOracle(n, in[0], index)
	case "reshape":
		flat := 0
		for i, x := range index {
			flat = flat*n.Out[0].Spec.Shape[i] + x
		}
		return in[0].Elem(flat)
	case "transpose":
		source := make([]int, len(index))
		for i, x := range index {
			axis := len(index) - 1 - i
			if perm := n.Ints("perm"); perm != nil {
				axis = (int(perm[i]) + len(index)) % len(index)
			}
			source[axis] = x
		}
		return in[0].At(source...)
	case "gelu":
		return geluOracle(in[0].At(index...), n.Str("approximate"))
	}
	var args []float64
	for _, t := range in {
		args = append(args, at(t, index))
	}
	v := scalars[n.Op.Name](args...)
	if n.Op.Name == "div" && !n.Out[0].Spec.DType.IsFloat() {
		return math.Trunc(v)
	}
	return v
}

// matrixAt broadcasts the batch dimensions alone.
func matrixAt(t *tensor.Tensor, index []int) float64 {
	own := slices.Clone(index[len(index)-t.Rank():])
	for i := range len(own) - 2 {
		if t.Dim(i) == 1 {
			own[i] = 0
		}
	}
	return t.At(own...)
}

func reductionOracle(n *ir.Node, x *tensor.Tensor, index []int) float64 {
	reduced := make([]bool, x.Rank())
	for i := range reduced {
		reduced[i] = n.Attr("axes") == nil
	}
	for _, a := range n.Ints("axes") {
		reduced[(int(a)+x.Rank())%x.Rank()] = true
	}
	sum, count, top, bottom, product := 0.0, 0, math.Inf(-1), math.Inf(1), 1.0
	whole := int64(1) // the product of integers, which wraps around
	var kept []int
	indices(x.Shape(), func(i []int) {
		kept = kept[:0]
		for d, v := range i {
			switch {
			case !reduced[d]:
				kept = append(kept, v)
			case n.Bool("keepdims"):
				kept = append(kept, 0)
			}
		}
		if slices.Equal(kept, index) {
			sum += x.At(i...)
			product *= x.At(i...)
			whole *= int64(x.At(i...))
			top = larger(top, x.At(i...))
			bottom = -larger(-bottom, -x.At(i...))
			count++
		}
	})
	switch n.Op.Name {
	case "sum":
		return sum
	case "mean":
		return sum / float64(count)
	case "min":
		return bottom
	case "prod":
		switch x.DType() {
		case tensor.I64:
			return float64(whole)
		case tensor.I32:
			return float64(int32(whole))
		}
		return product
	}
	return top
}

func TestReference(t *testing.T) {
	for _, o := range op.Registry.All() {
		if o.Class == ir.Transfer {
			continue // needs several ranks
		}
		t.Run(o.Name, func(t *testing.T) {
			for c := range casesOf(o) {
				if c.dtype != tensor.F64 && c.dtype.IsFloat() {
					continue // the reference widens it
				}
				g, err := c.graph()
				if err != nil {
					t.Fatal(err)
				}
				for _, adversarial := range []bool{false, true} {
					if adversarial && c.dtype != tensor.F64 {
						continue // the oracle's float64 does not hold large integers
					}
					inputs, err := c.data(adversarial)
					if err != nil {
						t.Fatal(err)
					}
					for k, got := range execute(t, interp.Reference(), g, inputs) {
						checkOracle(t, c, g.Outputs[k].Def, k, inputs, got)
					}
				}
			}
		})
	}
}

func checkOracle(t *testing.T, c *opCase, n *ir.Node, k int, inputs []*tensor.Tensor, got *tensor.Tensor) {
	t.Helper()
	stride := 1
	if (n.Op.Class == ir.Reduction || n.Op.Class == ir.Normalise) && inputs[0].Len() > 500 {
		stride = max(1, got.Len()/15) // the oracle is quadratic
	}
	tolerance := func(int) float64 { return 0 }
	if strings.HasSuffix(n.Op.Name, "attention") || n.Op.Name == "sdpa" {
		tolerance = bound.Attention(n, inputs, 0x1p-53) // scores of any size
	}
	count := 0
	indices(got.Shape(), func(index []int) {
		if count++; count%stride != 0 {
			return
		}
		g, w := got.At(index...), oracle(n, k, inputs, index)
		// The oracle's GELU cancels in the lower tail, so the scale of its error
		// is the operand's; sums cancel likewise.
		scale := math.Max(math.Abs(w), 1e-300)
		switch n.Op.Class {
		case ir.Contraction, ir.Reduction, ir.Normalise:
			scale = math.Max(scale, 1e5)
		}
		if !n.Out[k].Spec.DType.IsFloat() {
			scale = 0
		}
		if n.Op.Name == "gelu" {
			scale = math.Max(scale, math.Abs(inputs[0].At(index...)))
		}
		ok := g == w || g != g && w != w || math.Abs(g-w) <= math.Max(1e-13*scale, tolerance(count-1))
		if !ok {
			t.Fatalf("%v: element %v is %g, by definition %g", c, index, g, w)
		}
	})
}
