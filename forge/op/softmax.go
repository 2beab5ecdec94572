package op

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
)

var softmaxes = []*ir.Op{
	softmaxOp("softmax", "exp(x - max) / sum(exp(x - max)) along one axis. A row of only -inf, or with +inf or NaN, gives NaN where the formula does.",
		func(c *ir.Call) error { return lines(c, softmaxLine(mathf.Exp)) },
		func(c *ir.Call) error { return lines(c, softmaxLine(math.Exp)) }),
	softmaxOp("log_softmax", "x - max - log(sum(exp(x - max))) along one axis: the logarithm of softmax, without its underflow.",
		func(c *ir.Call) error { return lines(c, logSoftmaxLine(mathf.Exp, mathf.Log)) },
		func(c *ir.Call) error { return lines(c, logSoftmaxLine(math.Exp, math.Log)) }),
}

func softmaxOp(name, doc string, f32, f64 func(*ir.Call) error) *ir.Op {
	return &ir.Op{
		Name: name, Doc: doc, Class: ir.Normalise,
		Operands: []string{"x"},
		Types:    floats.String(),
		Attrs:    []ir.AttrDecl{axisAttr("the dimension that is normalised, negative from the end", int64(-1))},
		Infer: func(n *ir.Node) ([]ir.Spec, error) {
			if _, err := sameFloat(n); err != nil {
				return nil, err
			}
			if _, err := resolveAxis(int64(n.Int("axis")), n.In[0].Spec.Rank()); err != nil {
				return nil, err
			}
			return []ir.Spec{n.In[0].Spec.Clone()}, nil
		},
		Canonical: func(n *ir.Node) ir.Attrs { return canonicalAxis(n, n.In[0].Spec.Rank()) },
		Eval:      byType(f32, f64),
		FLOPs:     perOutput(5), // max, subtract, exp, sum, and divide or subtract
	}
}

// lineFunc fills line with its result for the elements that at returns.
type lineFunc[T float] func(stop *stopper, line []T, at func(i int) T) error

// lines applies f to one line along the axis at a time, in place where it is
// contiguous, so that every axis has the same arithmetic in the same order.
func lines[T float](c *ir.Call, f lineFunc[T]) error {
	shape := c.In[0].Shape()
	axis, err := resolveAxis(int64(c.Node.Int("axis")), len(shape))
	if err != nil {
		return err
	}
	src, dst := data[T](c.In[0]), data[T](c.Out[0])
	if len(dst) == 0 {
		return nil
	}
	n, inner := shape[axis], product(shape[axis+1:])
	return parallel(c, len(dst)/n, max(1, 1<<12/n), func(lo, hi int) error {
		stop := stopper{call: c}
		var scratch []T
		if inner > 1 {
			scratch = make([]T, n)
		}
		for l := lo; l < hi; l++ {
			start := l/inner*n*inner + l%inner
			line := scratch
			if inner == 1 {
				line = dst[start : start+n]
			}
			if err := f(&stop, line, func(i int) T { return src[start+i*inner] }); err != nil {
				return err
			}
			for i, v := range scratch {
				dst[start+i*inner] = v
			}
		}
		return nil
	})
}

func softmaxLine[T float](exp func(T) T) lineFunc[T] {
	return func(stop *stopper, line []T, at func(i int) T) error {
		_, sum, err := expLine(stop, line, exp, at)
		if err != nil {
			return err
		}
		return stop.blocks(len(line), 2, func(lo, hi int) {
			for i := range line[lo:hi] {
				line[lo+i] /= sum
			}
		})
	}
}

func logSoftmaxLine[T float](exp, log func(T) T) lineFunc[T] {
	return func(stop *stopper, line []T, at func(i int) T) error {
		top, sum, err := expLine(stop, line, exp, at)
		if err != nil {
			return err
		}
		shift := log(sum)
		return stop.blocks(len(line), 2, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				line[i] = T(at(i)-top) - shift
			}
		})
	}
}

// expLine fills line with exp(x - max) and returns max and the sum.
func expLine[T float](stop *stopper, line []T, exp func(T) T, at func(i int) T) (top, total T, err error) {
	top = at(0)
	err = stop.blocks(len(line), 2, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			line[i] = at(i)
			top = max(top, line[i])
		}
	})
	if err != nil {
		return 0, 0, err
	}
	err = stop.blocks(len(line), 16, func(lo, hi int) { // exp is about 16 simple operations
		for i, v := range line[lo:hi] {
			line[lo+i] = exp(v - top)
		}
	})
	if err != nil {
		return 0, 0, err
	}
	var sum [1]T
	err = pairwise(stop, sum[:], line, 1, 0, len(line))
	return top, sum[0], err
}
