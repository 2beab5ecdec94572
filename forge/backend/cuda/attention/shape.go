// Package attention writes CUDA C kernels of attention.
//
// A [Shape] describes one attention with its sizes and steps as constants, and
// [Candidates] lists the kernels that compute it on an architecture, the default first.
// There are these:
//
//   - flash, for many queries in half precision: both products on tensor cores, with the
//     softmax between them in registers. On sm_90a the products are wide ones, and four
//     warps of a block only bring keys and values.
//   - decode, for few queries in half precision: keys and values go from memory to
//     registers, and the keys of a row are shared by blocks. Of one new token it also does
//     what [Append] describes ([Shape.Joined]).
//   - lanes, for many queries of every type and any number of channels that fit.
//   - rows, for every type and any number of channels: a block for each query.
//
// The softmax is online: each keeps the largest score so far, the sum of weights relative
// to it, and the sum of weighted values, all in f32 (in f64 for f64). The order of sums
// depends on the shape and the candidate alone. On tensor cores weights are rounded to the
// type of the values, as the operators of an attention in pieces would; their sum is of
// the weights before that.
//
// A value that no query of a row sees changes nothing of it, whatever it is: tensor cores
// multiply it by zero, and where that is no number the row is computed once more without.
package attention

import (
	_ "embed"
	"fmt"
	"strings"

	"forgekernel/forge/tensor"
)

// Shape is one attention: softmax(Scale * Q K^T + mask) V for each batch and head. Steps
// are in elements.
type Shape struct {
	DType                  tensor.DType // of Q, K, V and the result
	Batches, Heads, Groups int          // Heads / Groups neighbouring heads share a key head
	Queries, Keys          int          // Keys is the most that there are
	D, E                   int          // channels of queries and keys, and of values
	Causal, Strict         bool         // see package loop
	Scale                  float64
	Q, K, V, Out           Steps
	// Aligned says that all four operands begin at multiples of 16 bytes.
	Aligned bool
	// Widened says that the result, rounded to DType, is stored as the f32 that it is.
	Widened bool
	Mask    *Mask
	Cache   *Cache
}

// Steps are those between neighbours in batch (or block of a table), head, row and channel.
type Steps struct{ Batch, Head, Row, Channel int }

// Mask says which pairs there are: a condition, or a number of the type of the shape
// that is added to the score.
type Mask struct {
	Bool  bool
	Steps [4]int // over batch, head, query and key
}

// Cache says which keys each batch has: query i is at position Pos+i, sees the keys up to
// it, and is padding when that is Length or more.
type Cache struct {
	Pos    Index
	Length *Index // nil when there is no padding
	Table  *Table // nil when each batch has keys of its own
}

// Index is an integer for each batch.
type Index struct {
	DType tensor.DType // I32 or I64
	Step  int
}

// Table names the blocks of keys of a batch.
type Table struct {
	DType         tensor.DType
	Row, Step     int // steps from batch to batch and from entry to entry
	Block, Blocks int // keys of a block, and blocks that there are
}

// ratio is the number of heads that share a key head.
func (s *Shape) ratio() int { return max(1, s.Heads/max(1, s.Groups)) }

// rows are the queries of all heads that share a key head.
func (s *Shape) rows() int { return s.Queries * s.ratio() }

// half reports whether elements have half precision.
func (s *Shape) half() bool { return s.DType == tensor.F16 || s.DType == tensor.BF16 }

// vector reports whether rows can be read in pieces of 16 bytes.
func (s *Shape) vector() bool {
	if !s.half() || !s.Aligned || s.D%8 != 0 || s.E%8 != 0 {
		return false
	}
	for _, a := range []Steps{s.Q, s.K, s.V, s.Out} {
		if a.Channel != 1 || a.Batch%8 != 0 || a.Head%8 != 0 || a.Row%8 != 0 {
			return false
		}
	}
	return true
}

// fours reports whether four neighbouring channels of queries and keys can be read at once.
func (s *Shape) fours() bool {
	all := s.Aligned && s.D%4 == 0
	for _, a := range []Steps{s.Q, s.K} {
		all = all && a.Channel == 1 && a.Batch%4 == 0 && a.Head%4 == 0 && a.Row%4 == 0
	}
	return all
}

// kinds are the types of elements, as memory has them, as they are computed with, and the
// number that the text knows them by.
var kinds = map[tensor.DType]struct {
	elem, real string
	kind       int
}{
	tensor.F32: {"float", "float", 0}, tensor.F64: {"double", "double", 1},
	tensor.F16: {"u16", "float", 2}, tensor.BF16: {"u16", "float", 3},
}

// integer is the type of an index.
func integer(d tensor.DType) string {
	if d == tensor.I64 {
		return "i64"
	}
	return "i32"
}

// constants is the text of a struct of constants.
type constants struct{ strings.Builder }

// add appends constants of one type: names and values in turn.
func (c *constants) add(kind string, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(c, "  static constexpr %s %s = %v;\n", kind, pairs[i], pairs[i+1])
	}
}

func (c *constants) steps(name string, a Steps) {
	c.add("i64", name+"_batch", a.Batch, name+"_head", a.Head, name+"_row", a.Row, name+"_step", a.Channel)
}

// cache appends what there is to know of a cache; nil for none. block is the keys of a
// batch where there is no table.
func (c *constants) cache(from *Cache, block int) {
	var cache Cache
	var length Index
	table := Table{Block: block}
	if from != nil {
		cache = *from
	}
	if cache.Length != nil {
		length = *cache.Length
	}
	if cache.Table != nil {
		table = *cache.Table
	}
	c.add("bool", "bounded", cache.Length != nil, "paged", cache.Table != nil)
	c.add("i64", "pos_step", cache.Pos.Step, "length_step", length.Step, "table_row", table.Row, "table_step", table.Step, "blocks", table.Blocks)
	c.add("int", "block", table.Block)
	fmt.Fprintf(c, "  typedef %s pos_elem;\n  typedef %s length_elem;\n  typedef %s table_elem;\n",
		integer(cache.Pos.DType), integer(length.DType), integer(table.DType))
}

// text is the struct of constants.
func (s *Shape) text(name string) string {
	c := &constants{}
	k := kinds[s.DType]
	fmt.Fprintf(c, "struct %s {\n  typedef %s elem;\n  typedef %s real;\n", name, k.elem, k.real)
	c.add("int", "kind", k.kind, "batches", s.Batches, "heads", s.Heads, "ratio", s.ratio(), "queries", s.Queries, "keys", s.Keys, "d", s.D, "e", s.E)
	c.add("bool", "causal", s.Causal, "strict", s.Strict, "vector", s.vector(), "fours", s.fours(), "cached", s.Cache != nil, "widened", s.Widened)
	scale := s.Scale
	if s.DType != tensor.F64 {
		scale = float64(float32(scale))
	}
	c.add("double", "scale", fmt.Sprintf("%x", scale))
	c.steps("q", s.Q)
	c.steps("k", s.K)
	c.steps("v", s.V)
	c.steps("out", s.Out)
	mask, masked, over := k.elem, 0, [4]int{}
	if s.Mask != nil {
		masked, over = 1, s.Mask.Steps
		if s.Mask.Bool {
			mask, masked = "u8", 2
		}
	}
	c.add("int", "masked", masked)
	c.add("i64", "mask_batch", over[0], "mask_head", over[1], "mask_row", over[2], "mask_key", over[3])
	c.cache(s.Cache, 1)
	out := k.elem
	if s.Widened {
		out = k.real
	}
	fmt.Fprintf(c, "  typedef %s mask_elem;\n  typedef %s out_elem;\n};\n", mask, out)
	return c.String()
}

// Blocks of text, of which kernels need some.
var (
	//go:embed source/common.cu
	common string
	//go:embed source/mma.cu
	mma string
	//go:embed source/tile.cu
	tile string
	//go:embed source/wide.cu
	wide string
	//go:embed source/flash.cu
	flash string
	//go:embed source/split.cu
	split string
	//go:embed source/lanes.cu
	lanes string
	//go:embed source/decode.cu
	decode string
)
