package conformance

import (
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// definition computes one element of result k of a node.
type definition func(n *ir.Node, k int, in []*tensor.Tensor, index []int) float64

// definitions of the operators that are neither elementwise nor reductions.
var definitions = map[string]definition{
	"softmax":     softmaxDefinition,
	"log_softmax": softmaxDefinition,
	"layer_norm":  normDefinition,
	"rms_norm":    normDefinition,
	"argmax":      argDefinition,
	"argmin":      argDefinition,
	"cast":        castDefinition,
	"cumsum":      cumsumDefinition,
	"top_k":       topKDefinition,
	"scatter":     scatterDefinition,
	"gather": func(n *ir.Node, _ int, in []*tensor.Tensor, index []int) float64 {
		axis, rank := n.Int("axis"), in[1].Rank()
		row := int(in[1].At(index[axis : axis+rank]...))
		if row < 0 && n.Bool("from_end") {
			row += in[0].Dim(axis)
		}
		return in[0].At(slices.Concat(index[:axis], []int{row}, index[axis+rank:])...)
	},
	"concat": func(n *ir.Node, _ int, in []*tensor.Tensor, index []int) float64 {
		at, axis := slices.Clone(index), n.Int("axis")
		for _, t := range in {
			if at[axis] < t.Dim(axis) {
				return t.At(at...)
			}
			at[axis] -= t.Dim(axis)
		}
		panic("no operand holds the element")
	},
	"pad": func(n *ir.Node, _ int, in []*tensor.Tensor, index []int) float64 {
		at := slices.Clone(index)
		for i, low := range n.Ints("low") {
			if at[i] -= int(low); at[i] < 0 || at[i] >= in[0].Dim(i) {
				return n.Float("value")
			}
		}
		return in[0].At(at...)
	},
	"narrow": func(n *ir.Node, _ int, in []*tensor.Tensor, index []int) float64 {
		at := slices.Clone(index)
		at[n.Int("axis")] = n.Int("start") + at[n.Int("axis")]*n.Int("step")
		return in[0].At(at...)
	},
	"split": func(n *ir.Node, k int, in []*tensor.Tensor, index []int) float64 {
		at := slices.Clone(index)
		for _, size := range n.Ints("sizes")[:k] {
			at[n.Int("axis")] += int(size)
		}
		return in[0].At(at...)
	},
	"expand": func(_ *ir.Node, _ int, in []*tensor.Tensor, index []int) float64 { return at(in[0], index) },
}

// along returns the elements on the line through index in direction of axis.
func along(x *tensor.Tensor, axis int, index []int) []float64 {
	line := make([]float64, x.Dim(axis))
	at := slices.Clone(index)
	for k := range line {
		at[axis] = k
		line[k] = x.At(at...)
	}
	return line
}

func softmaxDefinition(n *ir.Node, _ int, in []*tensor.Tensor, index []int) float64 {
	top, sum := math.Inf(-1), 0.0
	line := along(in[0], n.Int("axis"), index)
	for _, v := range line {
		top = larger(top, v)
	}
	for _, v := range line {
		sum += math.Exp(v - top)
	}
	d := in[0].At(index...) - top
	if n.Op.Name == "log_softmax" {
		return d - math.Log(sum)
	}
	return math.Exp(d) / sum
}

func normDefinition(n *ir.Node, _ int, in []*tensor.Tensor, index []int) float64 {
	axis := n.Int("axis")
	x := in[0]
	var line []float64
	indices(x.Shape()[axis:], func(i []int) { line = append(line, x.At(slices.Concat(index[:axis], i)...)) })
	mean, square := 0.0, 0.0
	if n.Op.Name == "layer_norm" {
		for _, v := range line {
			mean += v / float64(len(line))
		}
	}
	for _, v := range line {
		square += (v - mean) * (v - mean) / float64(len(line))
	}
	y := (x.At(index...) - mean) / math.Sqrt(square+n.Float("eps"))
	if len(in) > 1 {
		y *= in[1].At(index[axis:]...)
	}
	if len(in) > 2 {
		y += in[2].At(index[axis:]...)
	}
	return y
}

func argDefinition(n *ir.Node, _ int, in []*tensor.Tensor, index []int) float64 {
	axis := n.Int("axis")
	full := slices.Clone(index)
	if !n.Bool("keepdims") {
		full = slices.Insert(full, axis, 0)
	}
	line := along(in[0], axis, full)
	if nan := slices.IndexFunc(line, math.IsNaN); nan >= 0 {
		return float64(nan)
	}
	if n.Op.Name == "argmax" {
		return float64(slices.Index(line, slices.Max(line)))
	}
	return float64(slices.Index(line, slices.Min(line)))
}

// castDefinition leaves floats as they are: the reference rounds nothing.
func castDefinition(n *ir.Node, _ int, in []*tensor.Tensor, index []int) float64 {
	v := in[0].At(index...)
	ends := func(low, high float64) float64 {
		if math.IsNaN(v) {
			return 0
		}
		return math.Max(low, math.Min(high, math.Trunc(v)))
	}
	switch n.Out[0].Spec.DType {
	case tensor.Bool:
		return truth(v != 0)
	case tensor.I32:
		return ends(math.MinInt32, math.MaxInt32)
	case tensor.I64:
		return ends(math.MinInt64, math.MaxInt64)
	}
	return v
}

func cumsumDefinition(n *ir.Node, _ int, in []*tensor.Tensor, index []int) float64 {
	line, at := along(in[0], n.Int("axis"), index), index[n.Int("axis")]
	if n.Bool("reverse") {
		slices.Reverse(line)
		at = len(line) - 1 - at
	}
	if !n.Bool("exclusive") {
		at++
	}
	sum := 0.0
	for _, v := range line[:at] {
		sum += v
	}
	return sum
}

func topKDefinition(n *ir.Node, k int, in []*tensor.Tensor, index []int) float64 {
	axis := n.Int("axis")
	any := slices.Clone(index)
	any[axis] = 0
	line := along(in[0], axis, any)
	sign := 1.0
	if !n.Bool("largest") {
		sign = -1
	}
	// The element of rank r has r elements before it.
	for i, v := range line {
		before := 0
		for j, w := range line {
			larger := w*sign > v*sign || math.IsNaN(w) && !math.IsNaN(v) && sign > 0 || math.IsNaN(v) && !math.IsNaN(w) && sign < 0
			equal := w == v || math.IsNaN(w) && math.IsNaN(v)
			if larger || equal && j < i {
				before++
			}
		}
		if before == index[axis] {
			return []float64{v, float64(i)}[k]
		}
	}
	panic("no element has the rank")
}

func scatterDefinition(n *ir.Node, _ int, in []*tensor.Tensor, index []int) float64 {
	v := in[0].At(index...)
	indices(in[1].Shape(), func(p []int) {
		to := slices.Clone(p)
		to[n.Int("axis")] = int(in[1].At(p...))
		if !slices.Equal(to, index) {
			return
		}
		switch u := in[2].At(p...); n.Str("reduce") {
		case "add":
			v += u
		case "max":
			v = larger(v, u)
		default:
			v = u
		}
	})
	return v
}
