package onnx

import (
	"slices"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
)

var _ = register(map[string]operator{"RNN": {7, recurrent(rnnCell)}, "LSTM": {7, recurrent(lstmCell)}, "GRU": {7, recurrent(gruCell)}})

// A recurrent network is unrolled: the products with the inputs are made for all
// steps at once, and a cell is applied step by step.
//
// layer is one direction of it.
type layer struct {
	*call
	hidden      int
	gates       *ir.Value // of the inputs: [T, B, gates*hidden] with every bias that is added to it
	recur       *ir.Value // [hidden, gates*hidden]
	recurBias   *ir.Value // of a GRU, whose last gate may need it apart: [gates*hidden]
	peephole    *ir.Value // of an LSTM: [3*hidden], or nil
	activations []func(*ir.Value) *ir.Value
	state       []*ir.Value // h and, of an LSTM, c: [B, hidden]
}

// cell computes the next state from the gates' inputs at a step.
type cell struct {
	gates, states int
	activations   []string
	next          func(l *layer, in *ir.Value) []*ir.Value
}

var (
	rnnCell  = cell{1, 1, []string{"Tanh"}, rnnStep}
	lstmCell = cell{4, 2, []string{"Sigmoid", "Tanh", "Tanh"}, lstmStep}
	gruCell  = cell{3, 1, []string{"Sigmoid", "Tanh"}, gruStep}
)

func recurrent(kind cell) func(*call) { return func(c *call) { c.recurrent(kind) } }

func (c *call) recurrent(kind cell) {
	x := c.arg(0)
	if x.Spec.Rank() != 3 {
		c.Fail("the input %v must have rank 3", x.Spec)
	}
	batchFirst := c.flag("layout", false)
	if batchFirst {
		x = c.Transpose(x, 1, 0, 2)
	}
	direction := c.str("direction", "forward")
	c.oneOf("direction", direction, "forward", "reverse", "bidirectional")
	count := 1
	if direction == "bidirectional" {
		count = 2
	}
	var all, last []*ir.Value // outputs [T, 1, B, H] of each direction; states [1, B, H] of each, h first
	states := make([][]*ir.Value, kind.states)
	for d := range count {
		l := c.layer(kind, x, d, count, batchFirst)
		outputs := c.unroll(kind, l, x.Spec.Shape[0], x.Spec.Shape[1], direction == "reverse" || d == 1)
		all = append(all, outputs)
		for i, s := range l.state {
			states[i] = append(states[i], c.Reshape(s, append([]int{1}, s.Spec.Shape...)...))
		}
	}
	for i := range states {
		last = append(last, c.Op("concat", ir.Attrs{"axis": 0}, states[i]...))
	}
	y := c.Op("concat", ir.Attrs{"axis": 1}, all...)
	if batchFirst {
		y = c.Transpose(y, 2, 0, 1, 3)
		for i := range last {
			last[i] = c.Transpose(last[i], 1, 0, 2)
		}
	}
	c.set(0, y)
	for i, s := range last {
		c.set(1+i, s)
	}
}

// layer reads the operands of direction d.
func (c *call) layer(kind cell, x *ir.Value, d, count int, batchFirst bool) *layer {
	pick := func(i int) *ir.Value {
		v := c.Op("narrow", ir.Attrs{"axis": 0, "start": d, "length": 1}, c.arg(i))
		return c.Reshape(v, v.Spec.Shape[1:]...)
	}
	if s := c.shape(1); len(s) != 3 || s[0] != count || len(c.shape(2)) != 3 || c.shape(2)[0] != count {
		c.Fail("weights %v and %v are not those of %d directions", c.shape(1), c.shape(2), count)
	}
	w, r := c.Transpose(pick(1), 1, 0), c.Transpose(pick(2), 1, 0)
	l := &layer{call: c, hidden: r.Spec.Shape[0], recur: r}
	if n := c.int("hidden_size", int64(l.hidden)); n != int64(l.hidden) {
		c.Fail("hidden_size is %d; the recurrent weights %v have another", n, c.shape(2))
	}
	width := kind.gates * l.hidden
	if r.Spec.Shape[1] != width {
		c.Fail("recurrent weights %v have no %d gates", c.shape(2), kind.gates)
	}
	steps, batch := x.Spec.Shape[0], x.Spec.Shape[1]
	gates := c.Op("matmul", nil, c.Reshape(x, steps*batch, x.Spec.Shape[2]), w)
	if c.has(3) {
		b := pick(3)
		gates = c.Add(gates, c.Op("narrow", ir.Attrs{"axis": 0, "start": 0, "length": width}, b))
		l.recurBias = c.Op("narrow", ir.Attrs{"axis": 0, "start": width, "length": width}, b)
	}
	l.gates = c.Reshape(gates, steps, batch, width)
	for i := range kind.states {
		l.state = append(l.state, c.initial(5+i, d, batch, l.hidden, batchFirst, pick, x))
	}
	if kind.states == 2 && c.has(7) {
		l.peephole = pick(7)
	}
	l.activations = c.activations(kind, d)
	return l
}

// initial is the state before the first step, zeros unless operand i has it.
func (c *call) initial(i, d, batch, hidden int, batchFirst bool, pick func(int) *ir.Value, x *ir.Value) *ir.Value {
	if !c.has(i) {
		return c.Op("expand", ir.Attrs{"shape": []int64{int64(batch), int64(hidden)}}, c.Number(x, 0))
	}
	if batchFirst {
		v := c.Op("narrow", ir.Attrs{"axis": 1, "start": d, "length": 1}, c.arg(i))
		return c.Reshape(v, batch, hidden)
	}
	return pick(i)
}

func (c *call) activations(kind cell, d int) []func(*ir.Value) *ir.Value {
	names := slices.Clone(kind.activations)
	if a := c.attr("activations", proto.StringsType); a != nil {
		n := len(names)
		if len(a.Strings) < (d+1)*n {
			c.Fail("there are %d activations; %d are needed", len(a.Strings), (d+1)*n)
		}
		for i := range names {
			names[i] = string(a.Strings[d*n+i])
		}
	}
	limit := c.float("clip", 0)
	var list []func(*ir.Value) *ir.Value
	for _, name := range names {
		op, ok := map[string]string{"tanh": "tanh", "sigmoid": "sigmoid", "relu": "relu"}[strings.ToLower(name)]
		if !ok {
			c.Fail("the activation %s is not supported in a recurrent cell; Tanh, Sigmoid and Relu are", name)
		}
		list = append(list, func(v *ir.Value) *ir.Value {
			if limit > 0 {
				v = c.Op("minimum", nil, c.Op("maximum", nil, v, c.Number(v, -limit)), c.Number(v, limit))
			}
			return c.Op(op, nil, v)
		})
	}
	return list
}

// unroll applies the cell to every step and returns the hidden states [T, 1, B, H].
// A sequence that has ended keeps its state and gives zeros.
func (c *call) unroll(kind cell, l *layer, steps, batch int, reverse bool) *ir.Value {
	lengths := c.optional(4)
	if lengths != nil {
		lengths = c.Reshape(lengths, batch, 1)
	}
	outputs := make([]*ir.Value, steps)
	for k := range steps {
		t := k
		if reverse {
			t = steps - 1 - k
		}
		in := c.Reshape(c.Op("narrow", ir.Attrs{"axis": 0, "start": t, "length": 1}, l.gates), batch, l.gates.Spec.Shape[2])
		next := kind.next(l, in)
		out := next[0]
		if lengths != nil {
			running := c.Op("gt", nil, lengths, c.Number(lengths, float64(t)))
			for i := range next {
				next[i] = c.Where(running, next[i], l.state[i])
			}
			out = c.Where(running, next[0], c.Number(out, 0))
		}
		l.state = next
		outputs[t] = c.Reshape(out, 1, 1, batch, l.hidden)
	}
	if steps == 0 {
		c.Fail("the sequence has no steps")
	}
	return c.Op("concat", ir.Attrs{"axis": 0}, outputs...)
}

// gate is part i of n equal parts of the last dimension.
func (l *layer) gate(v *ir.Value, i int) *ir.Value {
	return l.Op("narrow", ir.Attrs{"axis": -1, "start": i * l.hidden, "length": l.hidden}, v)
}

// linear is the input of every gate: h R + biases + in.
func (l *layer) linear(in *ir.Value) *ir.Value {
	v := l.Add(in, l.Op("matmul", nil, l.state[0], l.recur))
	if l.recurBias != nil {
		v = l.Add(v, l.recurBias)
	}
	return v
}

func rnnStep(l *layer, in *ir.Value) []*ir.Value {
	return []*ir.Value{l.activations[0](l.linear(in))}
}

// lstmStep has the gates input, output, forget and cell.
func lstmStep(l *layer, in *ir.Value) []*ir.Value {
	v, c := l.linear(in), l.state[1]
	peep := func(gate *ir.Value, i int, of *ir.Value) *ir.Value {
		if l.peephole == nil {
			return gate
		}
		return l.Add(gate, l.Mul(l.gate(l.peephole, i), of))
	}
	f, g, h := l.activations[0], l.activations[1], l.activations[2]
	i := f(peep(l.gate(v, 0), 0, c))
	forget := f(peep(l.gate(v, 2), 2, c))
	if l.flag("input_forget", false) {
		forget = l.Sub(l.Number(i, 1), i)
	}
	c = l.Add(l.Mul(forget, c), l.Mul(i, g(l.gate(v, 3))))
	o := f(peep(l.gate(v, 1), 1, c))
	return []*ir.Value{l.Mul(o, h(c)), c}
}

// gruStep has the gates update, reset and hidden.
func gruStep(l *layer, in *ir.Value) []*ir.Value {
	h := l.state[0]
	f, g := l.activations[0], l.activations[1]
	weights := func(from, n int) *ir.Value {
		return l.Op("narrow", ir.Attrs{"axis": 1, "start": from * l.hidden, "length": n * l.hidden}, l.recur)
	}
	bias := func(v *ir.Value, from, n int) *ir.Value {
		if l.recurBias == nil {
			return v
		}
		return l.Add(v, l.Op("narrow", ir.Attrs{"axis": 0, "start": from * l.hidden, "length": n * l.hidden}, l.recurBias))
	}
	first := l.Op("narrow", ir.Attrs{"axis": 1, "start": 0, "length": 2 * l.hidden}, in)
	both := f(bias(l.Add(first, l.Op("matmul", nil, h, weights(0, 2))), 0, 2))
	z, r := l.gate(both, 0), l.gate(both, 1)
	var candidate *ir.Value
	if l.flag("linear_before_reset", false) {
		candidate = l.Mul(r, bias(l.Op("matmul", nil, h, weights(2, 1)), 2, 1))
	} else {
		candidate = bias(l.Op("matmul", nil, l.Mul(r, h), weights(2, 1)), 2, 1)
	}
	candidate = g(l.Add(l.gate(in, 2), candidate))
	return []*ir.Value{l.Add(l.Mul(l.Sub(l.Number(z, 1), z), candidate), l.Mul(z, h))}
}
