package pt2

import (
	"slices"

	"forgekernel/forge/ir"
)

// MaxSteps bounds the steps of a recurrent layer, which is unrolled.
const MaxSteps = 4096

var _ = register(map[string]func(*call){"aten.lstm.input": recurrent(4, lstmStep), "aten.gru.input": recurrent(3, gruStep)})

// layer is one direction of a recurrent layer. Its weights are those of PyTorch,
// transposed; its biases are nil if there are none.
type layer struct {
	*call
	input, hidden         *ir.Value // weights
	inputBias, hiddenBias *ir.Value
	size                  int // of the state
}

// recurrent imports layers whose weights hold so many gates side by side.
func recurrent(gates int, step func(l *layer, x *ir.Value, state []*ir.Value) []*ir.Value) func(*call) {
	return func(c *call) {
		if c.flag("train", false) && c.float("dropout", 0) != 0 {
			c.refuse("training drops elements at random: export after model.eval()")
			return
		}
		c.float("dropout", 0)
		x, params, states := c.tensor("input"), c.allTensors("params"), c.states()
		first := c.flag("batch_first", false)
		if x.Spec.Rank() != 3 {
			c.Fail("the input %v is no [time, batch, channels]", x.Spec)
		}
		if first {
			x = c.Swap(x, 0, 1)
		}
		if n := x.Spec.Shape[0]; n < 1 || n > MaxSteps {
			c.Fail("%d steps; 1 to %d are supported", n, MaxSteps)
		}
		layers, directions, each := c.mustInt("num_layers"), 1, 2
		if c.flag("bidirectional", false) {
			directions = 2
		}
		if c.flag("has_biases", true) {
			each = 4
		}
		total := int64(len(params) / each)
		if layers*int64(directions) != total || len(params)%each != 0 || layers < 1 {
			c.refusef("%d weights for %d layers of %d directions", len(params), layers, directions)
			return
		}
		last := make([][]*ir.Value, len(states))
		for i := range int(total) / directions {
			var outputs []*ir.Value
			for d := range directions {
				at := i*directions + d
				l := c.layer(params[at*each:(at+1)*each], gates)
				var state []*ir.Value
				for _, s := range states {
					state = append(state, c.at(s, 0, int64(at)))
				}
				y, end := l.run(x, state, d == 1, step)
				outputs = append(outputs, y)
				for k, s := range end {
					last[k] = append(last[k], c.widen(s, 0))
				}
			}
			x = c.join(outputs, 2)
		}
		if first {
			x = c.Swap(x, 0, 1)
		}
		c.set(0, x)
		for k, list := range last {
			c.set(1+k, c.join(list, 0))
		}
	}
}

// states are the first states: those of an LSTM are a list, that of a GRU is one.
func (c *call) states() []*ir.Value {
	if c.must("hx").List {
		return c.allTensors("hx")
	}
	return []*ir.Value{c.tensor("hx")}
}

func (c *call) join(list []*ir.Value, axis int) *ir.Value {
	if len(list) == 1 {
		return list[0]
	}
	return c.Op("concat", ir.Attrs{"axis": axis}, list...)
}

func (c *call) layer(params []*ir.Value, gates int) *layer {
	for _, w := range params[:2] {
		if w.Spec.Rank() != 2 || w.Spec.Shape[0]%gates != 0 {
			c.Fail("%v is no weight of %d gates", w.Spec, gates)
		}
	}
	l := &layer{call: c, input: c.Swap(params[0], 0, 1), hidden: c.Swap(params[1], 0, 1), size: params[1].Spec.Shape[0] / gates}
	if len(params) == 4 {
		l.inputBias, l.hiddenBias = params[2], params[3]
	}
	return l
}

// run computes all steps, from the last if the direction is back.
func (l *layer) run(x *ir.Value, state []*ir.Value, back bool, step func(*layer, *ir.Value, []*ir.Value) []*ir.Value) (*ir.Value, []*ir.Value) {
	projected := l.project(x, l.input, l.inputBias)
	n := x.Spec.Shape[0]
	outputs := make([]*ir.Value, n)
	for i := range n {
		at := i
		if back {
			at = n - 1 - i
		}
		state = step(l, l.at(projected, 0, int64(at)), state)
		outputs[at] = l.widen(state[0], 0)
	}
	return l.join(outputs, 0), state
}

func (l *layer) project(x, w, bias *ir.Value) *ir.Value {
	v := l.Op("matmul", nil, x, w)
	if bias != nil {
		v = l.Add(v, bias)
	}
	return v
}

// gates cuts the last dimension.
func (l *layer) gates(v *ir.Value, n int) []*ir.Value {
	sizes := slices.Repeat([]int64{int64(l.size)}, n)
	return l.Ops("split", ir.Attrs{"axis": v.Spec.Rank() - 1, "sizes": sizes}, v)
}

// lstmStep has the gates input, forget, cell and output.
func lstmStep(l *layer, x *ir.Value, state []*ir.Value) []*ir.Value {
	if len(state) != 2 {
		l.Fail("an LSTM has two states instead of %d", len(state))
	}
	g := l.gates(l.Add(x, l.project(state[0], l.hidden, l.hiddenBias)), 4)
	sigmoid := func(v *ir.Value) *ir.Value { return l.Op("sigmoid", nil, v) }
	cell := l.Add(l.Mul(sigmoid(g[1]), state[1]), l.Mul(sigmoid(g[0]), l.Op("tanh", nil, g[2])))
	return []*ir.Value{l.Mul(sigmoid(g[3]), l.Op("tanh", nil, cell)), cell}
}

// gruStep has the gates reset, update and new.
func gruStep(l *layer, x *ir.Value, state []*ir.Value) []*ir.Value {
	in, hidden := l.gates(x, 3), l.gates(l.project(state[0], l.hidden, l.hiddenBias), 3)
	reset := l.Op("sigmoid", nil, l.Add(in[0], hidden[0]))
	update := l.Op("sigmoid", nil, l.Add(in[1], hidden[1]))
	fresh := l.Op("tanh", nil, l.Add(in[2], l.Mul(reset, hidden[2])))
	return []*ir.Value{l.Add(fresh, l.Mul(update, l.Sub(state[0], fresh)))}
}
