package conformance

import (
	"maps"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// networkCases are those of the layers of networks.
var networkCases = map[string]func() []opCase{
	"linear": linearCases, "conv2d": convCases, "max_pool2d": maxPoolCases, "avg_pool2d": avgPoolCases,
	"sdpa": sdpaCases, "cached_attention": cachedCases, "paged_attention": pagedCases,
	"kv_append": appendCases, "paged_kv_append": pagedAppendCases, "rope": ropeCases,
}

var acts = []string{"none", "relu", "gelu", "gelu_tanh", "silu"}

func linearCases() []opCase {
	var cases []opCase
	for i, s := range [][3][]int{
		{{4}, {4, 3}, {3}}, {{1, 1}, {1, 1}, {1}}, {{0, 4}, {4, 3}, {3}}, {{3, 0}, {0, 4}, {4}}, {{3, 4}, {4, 0}, {0}},
		{{5, 7}, {7, 9}, {9}}, {{2, 3, 5}, {5, 4}, {4}}, {{33, 65}, {65, 31}, {31}}, {{1, 300}, {300, 600}, {600}}, {{2, 1, 2, 1, 2, 1, 2, 3}, {3, 2}, {2}},
	} {
		for _, act := range acts {
			attrs := ir.Attrs{"act": act}
			cases = append(cases, opCase{shapes: s[:], attrs: attrs})
			if i%2 == 0 {
				cases = append(cases, opCase{shapes: s[:2], attrs: attrs})
			}
			for _, weight := range []tensor.DType{tensor.F16, tensor.BF16} {
				cases = append(cases, opCase{shapes: s[:], attrs: attrs, types: []tensor.DType{0, weight, 0}, only: tensor.F32})
			}
			residual := append(slices.Clone(s[0][:len(s[0])-1]), s[1][1])
			cases = append(cases, opCase{shapes: [][]int{s[0], s[1], s[2], residual}, attrs: attrs, calm: []int{3}})
		}
	}
	return cases
}

func convCases() []opCase {
	var cases []opCase
	for i, c := range []struct {
		x, w  []int
		attrs ir.Attrs
	}{
		{[]int{1, 1, 1, 1}, []int{1, 1, 1, 1}, nil},
		{[]int{0, 2, 5, 5}, []int{3, 2, 3, 3}, nil},
		{[]int{2, 0, 5, 5}, []int{3, 0, 3, 3}, nil},
		{[]int{2, 3, 5, 5}, []int{0, 3, 3, 3}, nil},
		{[]int{2, 3, 7, 9}, []int{4, 3, 3, 3}, nil},
		{[]int{2, 3, 7, 9}, []int{4, 3, 3, 3}, ir.Attrs{"padding": []int{1, 1}}},
		{[]int{1, 2, 8, 11}, []int{3, 2, 2, 4}, ir.Attrs{"padding": []int{0, 3, 1, 2}, "stride": []int{2, 3}}},
		{[]int{1, 2, 9, 9}, []int{2, 2, 3, 2}, ir.Attrs{"dilation": []int{2, 3}, "padding": []int{2, 1}}},
		{[]int{1, 4, 6, 7}, []int{6, 2, 3, 3}, ir.Attrs{"groups": 2, "padding": []int{1, 1}}},
		{[]int{2, 6, 6, 5}, []int{6, 1, 3, 3}, ir.Attrs{"groups": 6, "padding": []int{1, 1}, "stride": []int{2, 1}}},
		{[]int{1, 3, 4, 4}, []int{2, 3, 1, 1}, ir.Attrs{"padding": []int{3, 3}}}, // rows of padding alone
		{[]int{1, 1, 2, 2}, []int{1, 1, 5, 5}, ir.Attrs{"padding": []int{3, 4}}}, // no tap row lies inside as a whole
		{[]int{1, 3, 32, 32}, []int{16, 3, 5, 5}, ir.Attrs{"padding": []int{2, 2}, "stride": []int{2, 2}}},
		{[]int{2, 5, 6, 7}, []int{9, 5, 1, 1}, nil},
		{[]int{1, 6, 8, 5}, []int{4, 3, 1, 1}, ir.Attrs{"groups": 2, "stride": []int{2, 1}}},
		{[]int{1, 4, 7, 37}, []int{19, 4, 3, 3}, ir.Attrs{"padding": []int{1, 2, 0, 3}, "dilation": []int{1, 2}}},
	} {
		cases = append(cases, opCase{shapes: [][]int{c.x, c.w}, attrs: c.attrs}, opCase{shapes: [][]int{c.x, c.w, c.w[:1]}, attrs: c.attrs})
		attrs := c.attrs.Clone()
		if attrs == nil {
			attrs = ir.Attrs{}
		}
		attrs["act"] = acts[1+i%(len(acts)-1)]
		cases = append(cases, opCase{shapes: [][]int{c.x, c.w, c.w[:1]}, attrs: attrs})
	}
	return cases
}

// images are inputs of pooling with windows that fit them.
var images = []struct {
	x     []int
	attrs ir.Attrs
}{
	{[]int{1, 1, 1, 1}, ir.Attrs{"kernel": []int{1, 1}}},
	{[]int{0, 2, 4, 4}, ir.Attrs{"kernel": []int{2, 2}}},
	{[]int{2, 3, 6, 7}, ir.Attrs{"kernel": []int{2, 3}}},
	{[]int{2, 3, 6, 7}, ir.Attrs{"kernel": []int{3, 2}, "stride": []int{1, 2}}},
	{[]int{1, 2, 5, 6}, ir.Attrs{"kernel": []int{3, 3}, "stride": []int{2, 2}, "padding": []int{1, 1}}},
	{[]int{1, 2, 5, 6}, ir.Attrs{"kernel": []int{3, 4}, "stride": []int{1, 1}, "padding": []int{0, 2, 1, 1}}},
	{[]int{1, 1, 40, 30}, ir.Attrs{"kernel": []int{40, 30}}},
}

func maxPoolCases() []opCase {
	cases := []opCase{{shapes: [][]int{{1, 2, 9, 8}}, attrs: ir.Attrs{"kernel": []int{3, 2}, "stride": []int{2, 1}, "dilation": []int{2, 3}, "padding": []int{1, 1}}}}
	for _, i := range images {
		cases = append(cases, opCase{shapes: [][]int{i.x}, attrs: i.attrs})
	}
	return cases
}

func avgPoolCases() []opCase {
	var cases []opCase
	for _, i := range images {
		without := i.attrs.Clone()
		without["count_include_pad"] = false
		cases = append(cases, opCase{shapes: [][]int{i.x}, attrs: i.attrs}, opCase{shapes: [][]int{i.x}, attrs: without})
	}
	return cases
}

// values are the operand of an attention that holds values: ordinary numbers,
// since a weight that is zero in float32 need not be so in float64.
var values = []int{2}

func sdpaCases() []opCase {
	var cases []opCase
	for i, d := range [][7]int{ // b, h, g, q, keys, d, e
		{1, 1, 1, 1, 1, 1, 1}, {2, 2, 2, 3, 3, 4, 4}, {1, 4, 2, 5, 7, 8, 8}, {1, 6, 1, 7, 5, 3, 2}, {2, 8, 4, 1, 33, 16, 16},
		{0, 2, 1, 3, 3, 4, 4}, {1, 0, 0, 3, 3, 4, 4}, {1, 2, 1, 0, 3, 4, 4}, {1, 2, 1, 3, 0, 4, 4}, {1, 2, 1, 3, 3, 4, 0},
		{1, 2, 2, 9, 130, 5, 7}, {1, 4, 2, 2, 150, 20, 33}, {1, 2, 1, 35, 37, 17, 20}, {1, 1, 1, 70, 200, 8, 8},
	} {
		b, h, g, q, keys := d[0], d[1], d[2], d[3], d[4]
		operands := [][]int{{b, h, q, d[5]}, {b, g, keys, d[5]}, {b, g, keys, d[6]}}
		add := func(mask []int, attrs ir.Attrs) {
			if mask == nil {
				cases = append(cases, opCase{shapes: operands, calm: values, attrs: attrs})
				return
			}
			with := append(slices.Clone(operands), mask)
			cases = append(cases,
				opCase{shapes: with, calm: values, attrs: attrs},
				opCase{shapes: with, calm: values, attrs: attrs, types: []tensor.DType{0, 0, 0, tensor.Bool}})
		}
		add(nil, nil)
		add(nil, ir.Attrs{"causal": true})
		add(nil, ir.Attrs{"scale": 0.3})
		masks := [][]int{{b, h, q, keys}, {q, keys}, {b, 1, 1, keys}, {h, 1, keys}, {q, 1}, {}}
		if i >= 10 {
			masks = masks[i%3 : i%3+2]
		}
		for _, mask := range masks {
			add(mask, nil)
		}
		if i >= 7 {
			add(nil, ir.Attrs{"strict": true, "causal": i%2 == 0})
			add([]int{b, 1, q, keys}, ir.Attrs{"strict": true})
		}
	}
	return cases
}

// positions are the operands pos and length of two rows with three tokens each,
// in a cache with room for twelve. A nil length is left out.
var positions = []struct{ pos, length []int64 }{
	{[]int64{0}, nil}, {[]int64{9}, nil}, {[]int64{0, 5}, nil},
	{[]int64{0, 5}, []int64{3, 6}}, {[]int64{4, 12}, []int64{0, 12}}, {[]int64{2, 0}, []int64{12, 2}}, {[]int64{1, 3}, []int64{3}},
}

// blocks is a block table for two rows of three blocks, out of eight.
var blocks = []int64{7, 2, 5, 0, 6, 1}

// onSequences gives the variants of a case with operands pos and length.
func onSequences(c opCase) []opCase {
	var cases []opCase
	for i, p := range positions {
		v := c
		index := []tensor.DType{tensor.I64, tensor.I32}[i%2]
		v = v.withIntegers(index, p.pos)
		if p.length != nil {
			v = v.withIntegers(index, p.length)
		}
		cases = append(cases, v)
	}
	return cases
}

// withIntegers appends an integer operand with the given elements: a scalar if
// there is one element.
func (c opCase) withIntegers(dtype tensor.DType, elements []int64, shape ...int) opCase {
	if len(shape) == 0 && len(elements) > 1 {
		shape = []int{len(elements)}
	}
	n := len(c.shapes)
	c.shapes = append(slices.Clone(c.shapes), shape)
	c.types = append(make([]tensor.DType, 0, n+1), c.types...)
	for len(c.types) < n {
		c.types = append(c.types, tensor.Invalid) // of the case's own type
	}
	c.types = append(c.types, dtype)
	c.given = maps.Clone(c.given)
	if c.given == nil {
		c.given = make(map[int][]int64)
	}
	c.given[n] = elements
	return c
}

// headCounts are query and key heads.
var headCounts = [][2]int{{1, 1}, {4, 2}, {3, 1}}

func cachedCases() []opCase {
	var cases []opCase
	for _, h := range headCounts {
		for _, d := range [][2]int{{4, 4}, {5, 3}} {
			cases = append(cases, onSequences(opCase{shapes: [][]int{{2, h[0], 3, d[0]}, {2, h[1], 12, d[0]}, {2, h[1], 12, d[1]}}, calm: values})...)
		}
	}
	empty := opCase{shapes: [][]int{{0, 2, 3, 4}, {0, 1, 12, 4}, {0, 1, 12, 4}}}
	return append(cases, empty.withIntegers(tensor.I64, []int64{1}))
}

func pagedCases() []opCase {
	var cases []opCase
	for i, h := range headCounts {
		c := opCase{shapes: [][]int{{2, h[0], 3, 6}, {8, h[1], 4, 6}, {8, h[1], 4, 5}}, calm: values}
		cases = append(cases, onSequences(c.withIntegers([]tensor.DType{tensor.I64, tensor.I32}[i%2], blocks, 2, 3))...)
	}
	return cases
}

func appendCases() []opCase {
	var cases []opCase
	for _, h := range []int{0, 1, 3} {
		cases = append(cases, onSequences(opCase{shapes: [][]int{{2, h, 12, 5}, {2, h, 3, 5}}})...)
	}
	return cases
}

func pagedAppendCases() []opCase {
	var cases []opCase
	for i, h := range []int{0, 1, 3} {
		c := opCase{shapes: [][]int{{8, h, 4, 5}, {2, h, 3, 5}}}
		cases = append(cases, onSequences(c.withIntegers([]tensor.DType{tensor.I64, tensor.I32}[i%2], blocks, 2, 3))...)
	}
	return cases
}

func ropeCases() []opCase {
	freqs, err := tensor.From([]int{2}, []float64{0.5, -3})
	if err != nil {
		panic(err) // the shape is right
	}
	var cases []opCase
	for _, attrs := range []ir.Attrs{
		nil, {"style": "interleaved"}, {"base": 500000.0}, {"dims": 4}, {"dims": 4, "style": "interleaved"}, {"dims": 0},
		{"dims": 4, "freqs": freqs},
	} {
		for _, x := range [][]int{{1, 4}, {3, 6}, {2, 3, 5, 8}, {2, 0, 5, 4}, {3, 65, 10}} {
			c := opCase{shapes: [][]int{x}, attrs: attrs}
			cases = append(cases, c.withIntegers(tensor.I64, []int64{0}), c.withIntegers(tensor.I32, []int64{1 << 20}))
			if len(x) > 2 {
				cases = append(cases, c.withIntegers(tensor.I64, []int64{7, 0, 31}[:x[0]]))
			}
		}
	}
	return cases
}
