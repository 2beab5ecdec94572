package cuda

import (
	_ "embed"
	"fmt"

	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

func init() { templates = append(templates, leading) }

//go:embed source/top.cu
var topText string

// Limits of the template of leading elements, and what a block has of a row.
const (
	maxLeading  = 8
	topThreads  = 256
	topElements = 8 * topThreads
)

// leading is the template of the few largest elements of rows in f32, of which several
// blocks share a row.
func leading(p *program, n *ir.Node) ([]choice, string) {
	if n.Op.Name != "top_k" {
		return nil, ""
	}
	in, k := n.In[0].Spec, n.Int("k")
	last := in.Rank() - 1
	if in.DType != tensor.F32 || n.Int("axis") != last || !n.Bool("largest") || k < 1 || k > maxLeading || in.Elements() == 0 {
		return nil, fmt.Sprintf("the leading elements of other than rows of f32, and more than %d, are loops", maxLeading)
	}
	places := make([]planned.Place, 0, 5)
	for _, v := range []*ir.Value{n.In[0], n.Out[0], n.Out[1]} {
		if !(ir.Layout{Strides: p.Strides(v)}).Contiguous(v.Spec.Shape) {
			return nil, "rows that are not side by side are loops"
		}
		places = append(places, p.Place(v))
	}
	count := in.Shape[last]
	rows := in.Elements() / count
	blocks := max(1, min(ceil(count, topElements), ceil(2*p.unit.target.sms, rows)))
	if rows > maxBlocks-1 {
		return nil, fmt.Sprintf("more than %d rows are loops", maxBlocks-1)
	}
	text := fmt.Sprintf(`extern "C" __global__ void __launch_bounds__(%[1]d) %[2]s(const float *x, float *values, i64 *places, top_list<%[3]d> *scratch, unsigned *counters, int *fault, int step) {
  top_rows<%[3]d, %[4]d, %[1]d>(x, values, places, scratch, counters);
}
`, topThreads, placeholder, k, count)
	return []choice{{
		name: fmt.Sprintf("the first %d of rows shared by %d blocks", k, blocks), reason: fmt.Sprintf("%d rows of %d elements", rows, count),
		scratch: int64(rows * blocks * k * 8), counters: int64(rows * 4),
		pieces: []piece{{
			shared: []string{topText}, text: text, args: append(places, scratch(0), counters(0)),
			launch: launch{grid: [3]uint32{uint32(blocks), uint32(rows), 1}, threads: [3]uint32{topThreads, 1, 1}},
		}},
	}}, ""
}
