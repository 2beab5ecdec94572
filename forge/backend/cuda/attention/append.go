package attention

import (
	_ "embed"
	"fmt"
	"strings"

	"forgekernel/forge/tensor"
)

//go:embed source/append.cu
var appendText string

// Append is what happens to new tokens before a cached attention: queries and keys are
// turned by their positions, if there are frequencies, and keys and values are written to
// the cache. Steps are in elements.
type Append struct {
	From                           tensor.DType // of Q, K and V
	To                             tensor.DType // of QOut and the cache
	Batches, Heads, Groups, Tokens int
	D, E                           int // channels of queries and keys, and of values
	Frequencies                    []float64
	Interleaved                    bool // channels 2i and 2i+1 turn together, else i and i + the number of frequencies
	Q, K, V, QOut, Keys, Values    Steps
	Cache                          Cache
	Capacity                       int // positions of a row
}

// AppendOperand is what a parameter of the kernel of [Append] is the address of.
type AppendOperand int

// Operands, in the order of the parameters.
const (
	NewQ AppendOperand = iota
	NewK
	NewV
	TurnedQ
	KeysOf
	ValuesOf
	AppendTable
	AppendPos
	AppendLength
	AppendOperands // their number
)

// maxAppend bounds the tokens of all rows: each is compared with all before it, so that no
// two go to one place.
const maxAppend = 256

// Kernel is the kernel; the error says why there is none.
func (a *Append) Kernel() (Kernel, error) {
	from, known := kinds[a.From]
	to, also := kinds[a.To]
	switch {
	case !known || !also || a.From == tensor.F64 || a.To == tensor.F64:
		return Kernel{}, fmt.Errorf("tokens of %v do not go to a cache of %v in one kernel", a.From, a.To)
	case a.Batches*a.Tokens > maxAppend:
		return Kernel{}, fmt.Errorf("%d tokens are more than the %d that are compared with one another", a.Batches*a.Tokens, maxAppend)
	}
	const threads = 128
	warps := a.Batches * a.Tokens * (a.Heads + 2*a.Groups)
	return Kernel{
		Name:   "rotary positions and cache in one kernel",
		Reason: fmt.Sprintf("%d tokens of %d heads, a warp each", a.Batches*a.Tokens, a.Heads+2*a.Groups),
		Shared: []string{common, appendText},
		Text:   a.text(from.kind, to.kind, from.elem, to.elem),
		Grid:   [3]uint32{uint32((warps*32 + threads - 1) / threads), 1, 1}, Threads: [3]uint32{threads, 1, 1},
	}, nil
}

func (a *Append) text(from, to int, in, out string) string {
	const name = "@kernel@_shape"
	return a.constants(name, from, to) + fmt.Sprintf("extern \"C\" __global__ void @kernel@(const %[1]s *q, const %[1]s *k, const %[1]s *v, %[2]s *q_out, %[2]s *keys, %[2]s *values, "+
		"const %[3]s::table_elem *table, const %[3]s::pos_elem *pos, const %[3]s::length_elem *length, int *fault, int step) {\n"+
		"  attention::append<%[3]s>{q, k, v, q_out, keys, values, table, pos, length}.run(fault, step);\n}\n", in, out, name)
}

// constants is the text of the sizes and steps, between types of these numbers.
func (a *Append) constants(name string, from, to int) string {
	var b strings.Builder
	var list []string
	for _, f := range a.Frequencies {
		list = append(list, fmt.Sprintf("%x", f))
	}
	if list != nil {
		fmt.Fprintf(&b, "static __device__ const double %s_frequencies[%d] = {%s};\n", name, len(list), strings.Join(list, ", "))
	}
	c := &constants{}
	fmt.Fprintf(c, "struct %s {\n", name)
	c.add("int", "from", from, "kind", to, "batches", a.Batches, "heads", a.Heads, "groups", a.Groups, "tokens", a.Tokens, "d", a.D, "e", a.E, "pairs", len(a.Frequencies))
	c.add("bool", "side_by_side", a.Interleaved)
	c.add("i64", "capacity", a.Capacity)
	for _, x := range []struct {
		name string
		Steps
	}{{"q", a.Q}, {"k", a.K}, {"v", a.V}, {"q_out", a.QOut}, {"keys", a.Keys}, {"values", a.Values}} {
		c.steps(x.name, x.Steps)
	}
	block := a.Capacity
	if a.Cache.Table != nil {
		block = a.Cache.Table.Block
	}
	c.cache(&a.Cache, block)
	frequency := "0"
	if list != nil {
		frequency = name + "_frequencies[i]"
	}
	fmt.Fprintf(c, "  INLINE double frequency(int i) { return %s; }\n};\n", frequency)
	b.WriteString(c.String())
	return b.String()
}
