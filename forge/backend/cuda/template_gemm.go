package cuda

import (
	"fmt"
	"math/bits"
	"slices"

	"forgekernel/forge/backend/code"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/gemm"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

func init() { templates = append(templates, products) }

// products is the template of matrix products.
func products(p *program, n *ir.Node) ([]choice, string) {
	kernels, err := p.Lower(n)
	if err != nil || len(kernels) != 1 || kernels[0].Contraction == nil {
		return nil, ""
	}
	k := kernels[0]
	c := k.Contraction
	if c.Elem == tensor.F64 {
		return nil, "products of f64 are loops"
	}
	if c.K == 0 {
		return nil, "sums of no products are loops"
	}
	s, places := p.product(k)
	list := p.tiled(s, places)
	p.begun(n, k, s, places, list)
	if list == nil {
		return nil, fmt.Sprintf("more than %d products at once are loops", gemm.MaxBatches)
	}
	return list, ""
}

// tiled are the kernels of products.
func (p *program) tiled(s *gemm.Shape, places []planned.Place) (list []choice) {
	for _, g := range gemm.Candidates(s, p.unit.target.gemm()) {
		list = append(list, productChoice(g, places))
	}
	return list
}

// productChoice is a kernel of a product with its arguments in some places.
func productChoice(k gemm.Kernel, places []planned.Place) choice {
	made := choice{name: k.Name, reason: k.Reason, scratch: k.Scratch, counters: k.Counters}
	for _, q := range k.Pieces {
		made.pieces = append(made.pieces, piece{
			shared: q.Shared, text: q.Text, specific: q.Specific, enters: q.Enters, args: argumentsOf(q.Args, places), boxes: boxesOf(&q),
			launch: launch{grid: q.Grid, threads: q.Threads, shared: q.SharedBytes},
		})
	}
	return made
}

// begun adds, to the choices of a product, what they are when their kernels compute the
// first operand as well.
func (p *program) begun(n *ir.Node, k *loop.Kernel, s *gemm.Shape, places []planned.Place, list []choice) {
	b := p.beginning(k)
	if b == nil {
		return
	}
	out := k.Params[k.Contraction.Out.Param].Value
	ok, moves := p.clear(b, n, out)
	if !ok {
		return
	}
	with := *s
	begin, more := p.begins(b)
	with.Begin = begin
	places = append(slices.Clone(places), more...)
	if moves {
		places[gemm.Out] = moved(0)
	}
	for _, g := range gemm.Candidates(&with, p.unit.target.gemm()) {
		i := slices.IndexFunc(list, func(c choice) bool { return c.name == g.Name })
		if i < 0 || !worthwhile(s, g) {
			continue
		}
		whole := productChoice(g, places)
		whole.replaces = b.node
		if moves {
			whole.moves = []*ir.Value{out}
		}
		list[i].begun = &whole
	}
}

// worthwhile reports whether what all blocks read of a row is little beside the weights.
func worthwhile(s *gemm.Shape, k gemm.Kernel) bool {
	g := k.Pieces[0].Grid
	blocks := int(g[0]) * int(g[1]) * int(g[2])
	return 3*blocks*s.K*s.A.Elem.Size() <= s.K*s.N*s.B.Elem.Size()
}

// gemm is the target of products.
func (t target) gemm() gemm.Target {
	return gemm.Target{Capability: int(t.capability), SMs: t.sms, Shared: t.shared}
}

// argumentsOf are the places of arguments, of which the memory of the choice is no value.
func argumentsOf(list []gemm.Arg, places []planned.Place) []planned.Place {
	var args []planned.Place
	for _, a := range list {
		switch a {
		case gemm.Scratch:
			args = append(args, scratch(0))
		case gemm.Counters:
			args = append(args, counters(0))
		default:
			args = append(args, places[a])
		}
	}
	return args
}

// boxesOf are the arguments of a piece that are no addresses.
func boxesOf(q *gemm.Piece) map[int]*driver.Boxes {
	boxes := make(map[int]*driver.Boxes)
	for i, a := range q.Args {
		if b := q.Boxes[a]; b != nil {
			boxes[i] = b
		}
	}
	return boxes
}

// product describes a contraction, and gives the places of its arguments.
func (p *program) product(k *loop.Kernel) (*gemm.Shape, []planned.Place) {
	c := k.Contraction
	s := &gemm.Shape{Batch: c.Batch, M: c.M, N: c.N, K: c.K}
	places := make([]planned.Place, gemm.Extra)
	rank := len(c.Batch)
	matrix := func(a *loop.Access) (gemm.Matrix, planned.Place) {
		return p.matrix(k, a, a.Strides[:rank], a.Strides[rank], a.Strides[rank+1])
	}
	s.A, places[gemm.A] = matrix(&c.A)
	s.B, places[gemm.B] = matrix(&c.B)
	s.Out, places[gemm.Out] = matrix(&c.Out)
	s.Early = p.still(places[gemm.B])
	var vars []string
	for i := range c.Batch {
		vars = append(vars, fmt.Sprintf("i%d", i))
	}
	return s, append(places, p.finish(s, k, append(vars, "m", "n"), c.Bias, c.Epilogue)...)
}

// matrix is an operand of a product, and its place.
func (p *program) matrix(k *loop.Kernel, a *loop.Access, batch []int, row, column int) (gemm.Matrix, planned.Place) {
	q := k.Params[a.Param]
	at := p.Place(q.Value)
	at.Offset += int64(a.Offset * q.DType().Size())
	return gemm.Matrix{Elem: q.DType(), Batch: batch, Row: row, Column: column, Align: alignment(at)}, at
}

// finish tells a shape what becomes of its sums, and gives the places of what that reads.
func (p *program) finish(s *gemm.Shape, k *loop.Kernel, vars []string, bias *loop.Access, epilogue *loop.Expr) (places []planned.Place) {
	body, used := finishing(k, p.unit.target, vars, bias, epilogue)
	s.Finish.Body = body
	for _, i := range used {
		s.Finish.Params = append(s.Finish.Params, fmt.Sprintf("const %s *p%d", forms[k.Params[i].DType()].elem, i))
		places = append(places, p.Place(k.Params[i].Value))
	}
	return places
}

// still reports whether no kernel of the program writes a place.
func (p *program) still(at planned.Place) bool {
	if at.Buffer < 0 {
		return false
	}
	b := &p.Buffers[at.Buffer]
	return b.Constant != nil || b.Input >= 0 && !b.Updated
}

// alignment is the bytes that an address is a multiple of; buffers begin at multiples of
// those that planned offsets are.
func alignment(at planned.Place) int {
	const most = 64
	if at.Offset == 0 {
		return most
	}
	return min(most, 1<<bits.TrailingZeros64(uint64(at.Offset)))
}

// finishing is the text that makes the result at some point of a sum, and the parameters
// that it reads. The bias is added to the rounded sum, as the operator does it.
func finishing(k *loop.Kernel, t target, vars []string, bias *loop.Access, epilogue *loop.Expr) (body string, used []int) {
	if bias == nil && epilogue == nil {
		return "", nil
	}
	e := &emitter{kernel: k, index: "i64", Writer: code.Writer{Depth: 2}, target: t, acc: "total"}
	reads := func(a *loop.Access) {
		if !slices.Contains(used, a.Param) {
			used = append(used, a.Param)
		}
	}
	total := "vf(sum)"
	if bias != nil {
		reads(bias)
		total = fmt.Sprintf("v_add(vf(sum), load_%s(p%d + (%s)))", e.memory(bias), bias.Param, e.affine(vars, bias.Offset, bias.Strides))
	}
	e.Line("const vf total = %s;", total)
	value := "total"
	if epilogue != nil {
		value = e.expr(vars, epilogue)
		epilogue.Walk(func(x *loop.Expr) {
			if x.Op == loop.Load {
				reads(x.Access)
			}
		})
	}
	e.Line("return lane0_f32(%s);", value)
	return e.String(), used
}
