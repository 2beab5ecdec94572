package conformance

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// specialCases are those of operators whose operands and attributes depend on
// one another.
var specialCases = map[string]func() []opCase{
	"where": whereCases, "cast": castCases, "gather": gatherCases, "concat": concatCases, "pad": padCases,
	"narrow": narrowCases, "split": splitCases, "expand": expandCases, "argmax": argCases, "argmin": argCases,
	"cumsum": cumsumCases, "top_k": topKCases, "scatter": scatterCases,
	"layer_norm": func() []opCase { return normCases(3) }, "rms_norm": func() []opCase { return normCases(2) },
}

func whereCases() []opCase {
	var cases []opCase
	add := func(cond, a, b []int) {
		cases = append(cases, opCase{shapes: [][]int{cond, a, b}, types: []tensor.DType{tensor.Bool}})
	}
	for _, s := range shapes {
		add(s, s, s)
	}
	for _, p := range broadcasts {
		add(p[0], p[1], p[0])
		add(p[1], p[0], p[1])
		add(p[1], p[1], p[0])
	}
	return cases
}

func castCases() []opCase {
	var cases []opCase
	for _, to := range allTypes {
		for _, s := range shapes {
			cases = append(cases, opCase{shapes: [][]int{s}, attrs: ir.Attrs{"dtype": to.String()}})
		}
	}
	return cases
}

func gatherCases() []opCase {
	var cases []opCase
	for i, p := range [][2][]int{
		{{5}, {}}, {{5}, {7}}, {{5, 3}, {4}}, {{7, 2, 3}, {2, 2}}, {{1, 4}, {3}}, {{4, 0}, {2}}, {{3, 5}, {0}}, {{0, 3}, {0, 2}},
		{{130, 70}, {33}}, {{2, 3, 4, 5}, {1, 6}}, {{3}, {2, 1, 2, 1, 2, 1, 2}},
	} {
		for axis := -len(p[0]); axis < len(p[0]); axis++ {
			below := p[0][(axis+len(p[0]))%len(p[0])]
			if below == 0 && len(p[1]) > 0 && !slices.Contains(p[1], 0) {
				continue // there is no index that it has
			}
			index := []tensor.DType{tensor.I64, tensor.I32}[i%2]
			for _, fromEnd := range []bool{false, true} {
				cases = append(cases, opCase{shapes: [][]int{p[0], p[1]}, types: []tensor.DType{tensor.Invalid, index}, below: below, attrs: ir.Attrs{"axis": axis, "from_end": fromEnd}})
			}
		}
	}
	return cases
}

func concatCases() []opCase {
	var cases []opCase
	for _, s := range shapes {
		for axis := -len(s); axis < len(s); axis++ {
			attrs := ir.Attrs{"axis": axis}
			longer := slices.Clone(s)
			longer[(axis+len(s))%len(s)] += 3
			cases = append(cases, opCase{shapes: [][]int{s}, attrs: attrs}, opCase{shapes: [][]int{s, s}, attrs: attrs}, opCase{shapes: [][]int{s, longer, s}, attrs: attrs})
		}
	}
	return cases
}

func padCases() []opCase {
	var cases []opCase
	for _, s := range shapes {
		low, high := make([]int, len(s)), make([]int, len(s))
		none := ir.Attrs{"low": low, "high": high}
		cases = append(cases, opCase{shapes: [][]int{s}, attrs: none})
		for i := range s {
			one, two := slices.Clone(low), slices.Clone(high)
			one[i], two[len(s)-1-i] = 2, 1+i%2
			cases = append(cases, opCase{shapes: [][]int{s}, attrs: ir.Attrs{"low": one, "high": two, "value": 1.0}})
		}
	}
	return cases
}

func narrowCases() []opCase {
	var cases []opCase
	for _, s := range shapes {
		for axis := range s {
			d := s[axis]
			add := func(start, length, step int) {
				cases = append(cases, opCase{shapes: [][]int{s}, attrs: ir.Attrs{"axis": axis - len(s), "start": start, "length": length, "step": step}})
			}
			add(0, d, 1)
			add(d, 0, 1)
			if d > 0 {
				add(d-1, d, -1)
				add(-1, 1, 1)
				add(d/2, d-d/2, 1)
				add(0, (d+1)/2, min(2, d))
			}
		}
	}
	return cases
}

func splitCases() []opCase {
	var cases []opCase
	for _, s := range shapes {
		for axis := range s {
			d := s[axis]
			for _, sizes := range [][]int{{d}, {0, d}, {d / 2, d - d/2}, {d / 3, 0, d / 3, d - d/3*2}} {
				cases = append(cases, opCase{shapes: [][]int{s}, attrs: ir.Attrs{"axis": axis - len(s), "sizes": sizes}})
			}
		}
	}
	return cases
}

func expandCases() []opCase {
	var cases []opCase
	for _, s := range shapes {
		cases = append(cases, opCase{shapes: [][]int{s}, attrs: ir.Attrs{"shape": s}})
	}
	for _, p := range [][2][]int{{{}, {2, 3}}, {{1}, {0}}, {{1}, {7}}, {{3, 1}, {3, 5}}, {{1, 5}, {2, 3, 5}}, {{4, 1, 1}, {2, 4, 3, 2}}, {{1, 1}, {1, 1, 1, 1, 1, 1, 2, 3}}} {
		cases = append(cases, opCase{shapes: [][]int{p[0]}, attrs: ir.Attrs{"shape": p[1]}})
	}
	return cases
}

func argCases() []opCase {
	var cases []opCase
	for _, s := range shapes {
		for axis := -len(s); axis < len(s); axis++ {
			if s[(axis+len(s))%len(s)] > 0 {
				cases = append(cases, opCase{shapes: [][]int{s}, attrs: ir.Attrs{"axis": axis, "keepdims": axis < 0}})
			}
		}
	}
	return cases
}

func normCases(operands int) []opCase {
	var cases []opCase
	for _, s := range append(slices.Clone(shapes), []int{3, 700}) {
		for axis := -len(s); axis < len(s); axis++ {
			line := s[(axis+len(s))%len(s):]
			all := [][]int{s, line, line}[:operands]
			cases = append(cases, opCase{shapes: all, attrs: ir.Attrs{"axis": axis}}, opCase{shapes: all[:1], attrs: ir.Attrs{"axis": axis, "eps": 0.5}})
		}
	}
	return cases
}

func cumsumCases() []opCase {
	var cases []opCase
	for _, s := range shapes {
		for axis := range s {
			for _, exclusive := range []bool{false, true} {
				cases = append(cases, opCase{shapes: [][]int{s}, attrs: ir.Attrs{"axis": axis, "exclusive": exclusive, "reverse": axis%2 == 1}})
			}
		}
	}
	return cases
}

func topKCases() []opCase {
	var cases []opCase
	for _, s := range shapes {
		for axis, d := range s {
			for _, k := range []int{0, min(d, 1), d / 2, d} {
				cases = append(cases, opCase{shapes: [][]int{s}, attrs: ir.Attrs{"axis": axis - len(s), "k": k, "largest": k%2 == 0}})
			}
		}
	}
	return cases
}

func scatterCases() []opCase {
	var cases []opCase
	for i, p := range [][2][]int{{{5}, {3}}, {{5}, {9}}, {{4, 3}, {2, 3}}, {{4, 3}, {6, 2}}, {{2, 3, 4}, {1, 2, 2}}, {{3, 4}, {0, 4}}, {{65, 3}, {130, 3}}} {
		for _, reduce := range []string{"none", "max", "add"} {
			types := []tensor.DType{tensor.Invalid, []tensor.DType{tensor.I64, tensor.I32}[i%2], tensor.Invalid}
			cases = append(cases, opCase{shapes: [][]int{p[0], p[1], p[1]}, types: types, below: p[0][0], attrs: ir.Attrs{"axis": 0, "reduce": reduce}})
		}
	}
	return cases
}
