package model

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// Graph makes the program of one place. Its inputs, by name and in order:
//
//	tokens  i32[B,T]     first stage only; padding may be any token
//	pos     i32[B]       the position of each row's first token
//	length  i32[B]       pos plus the number of the row's real tokens
//	table   i32[B,W]     with a Paged cache: the blocks of each row
//	last    i32[B]       Logits Last, last stage: index into B*T of each row's token
//	k3, v3  [N,G,S,D]    for each layer of the stage its keys and values, here of
//	                     layer 3: pools of N blocks, or N = B contiguous caches
//
// Its outputs are the logits, f32[B,V] or f32[B,T,V], of the last stage, with
// Leads then the two largest of each row, f32[B,2], and their tokens, i64[B,2], and
// where T is 1 the likeliest as the next tokens, i32[B,1], then keys and values in the order of the inputs. These take the storage of the
// inputs: give [forgekernel/forge/backend.RunInto] the same tensors for both.
//
// One program serves prefill chunks and decode steps: rows have at most T real
// tokens each, perhaps none. Tokens at length and beyond are padding, which is
// neither written to a cache nor attended to; its logits mean nothing. A token
// outside the vocabulary or beyond the cache is an error of the run; within the
// last block of a Paged cache it is for the caller to end at Config.Context.
//
// A later stage begins with a recv of the hidden state f32[B,T,C] from the stage
// before, an earlier one ends with a send: group "pp", whose ranks are the stages
// of one TP rank. Ranks of a stage are group "tp".
func (m *Model) Graph(f Form) (*ir.Graph, error) {
	if err := f.check(m.Config); err != nil {
		return nil, err
	}
	g := newGrapher(m, f)
	g.inputs()
	x := g.enter()
	first, last := f.Place.Layers(g.c.Layers)
	for l := first; l < last; l++ {
		x = g.layer(l, x)
	}
	outputs := g.leave(x)
	if g.err != nil {
		return nil, fmt.Errorf("%v: %w", g.region, g.err)
	}
	return g.b.Finish(append(outputs, g.pools...)...)
}

// grapher builds one graph. The first error stays and makes all that follows
// return nil.
type grapher struct {
	m      *Model
	c      Config
	f      Form
	fam    *family
	b      *ir.Builder
	err    error
	region Region
	line   int // nodes in the region

	params map[string]Param
	consts map[string]*ir.Value

	tokens, pos, length, table, last *ir.Value
	pools                            []*ir.Value // keys and values of each local layer, in turn; the latest state
}

func newGrapher(m *Model, f Form) *grapher {
	fam, _ := familyOf(m.Config.Family) // the configuration was checked
	g := &grapher{m: m, c: m.Config, f: f, fam: fam, params: make(map[string]Param), consts: make(map[string]*ir.Value)}
	g.b = ir.NewBuilder(op.Registry, fmt.Sprintf("%s_rank%d", fam.name, f.Place.Rank))
	params := g.c.Params(f.Place)
	m.preload(params, f.DType)
	for _, p := range params {
		g.params[p.Name] = p
	}
	return g
}

// at begins a region: what is added from now on belongs to it.
func (g *grapher) at(name string) { g.inLayer(-1, name) }

func (g *grapher) inLayer(l int, name string) {
	if g.err == nil {
		g.region, g.line = Region{l, name}, 0
	}
}

// apply adds a node of the region.
func (g *grapher) apply(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	if g.err != nil {
		return nil
	}
	g.line++
	g.b.At(ir.Pos{Source: g.region.String(), Line: g.line})
	v, err := g.b.Apply(name, attrs, in...)
	g.err = err
	return v
}

func (g *grapher) input(name string, dtype tensor.DType, shape ...int) *ir.Value {
	if g.err != nil {
		return nil
	}
	v, err := g.b.Input(name, ir.Spec{DType: dtype, Shape: shape})
	g.err = err
	return v
}

// constant adds a tensor that nobody changes.
func (g *grapher) constant(t *tensor.Tensor, err error) *ir.Value {
	if g.err != nil {
		return nil
	}
	if g.err = err; err != nil {
		return nil
	}
	g.line++
	g.b.At(ir.Pos{Source: g.region.String(), Line: g.line})
	v, err := g.b.SharedConst(t)
	g.err = err
	return v
}

// param is a parameter as the model holds it.
func (g *grapher) param(name string) *ir.Value {
	if v := g.consts[name]; v != nil || g.err != nil {
		return v
	}
	p := g.params[name]
	v := g.constant(g.m.load(p.DType(g.f.DType), p))
	g.consts[name] = v
	return v
}

// optional is a bias, nil where the family has none.
func (g *grapher) optional(name string) *ir.Value {
	if _, ok := g.params[name]; !ok {
		return nil
	}
	return g.param(name)
}

// cast changes the element type of x if it must.
func (g *grapher) cast(x *ir.Value, to tensor.DType) *ir.Value {
	if g.err != nil || x.Spec.DType == to {
		return x
	}
	return g.apply("cast", ir.Attrs{"dtype": to.String()}, x)
}

// name is how a value is printed.
func (g *grapher) name(v *ir.Value, name string) {
	if g.err == nil {
		g.b.Name(v, name)
	}
}

func (g *grapher) reshape(x *ir.Value, shape ...int) *ir.Value {
	return g.apply("reshape", ir.Attrs{"shape": shape}, x)
}

func (g *grapher) inputs() {
	b, t, place := g.f.Rows, g.f.Tokens, g.f.Place
	if place.First() {
		g.tokens = g.input("tokens", tensor.I32, b, t)
	}
	g.pos = g.input("pos", tensor.I32, b)
	g.length = g.input("length", tensor.I32, b)
	if paged, ok := g.f.Cache.(Paged); ok {
		g.table = g.input("table", tensor.I32, b, paged.Width)
	}
	if g.f.Logits == Last && place.Last() {
		g.last = g.input("last", tensor.I32, b)
	}
	first, last := place.Layers(g.c.Layers)
	for l := first; l < last; l++ {
		for _, kind := range []string{"k", "v"} {
			g.pools = append(g.pools, g.input(fmt.Sprintf("%s%d", kind, l), g.f.DType, g.f.CacheShape(g.c)...))
		}
	}
}

// enter is the hidden state [B,T,C] that comes into the stage.
func (g *grapher) enter() *ir.Value {
	place := g.f.Place
	if !place.First() {
		g.at("stage input")
		return g.apply("recv", ir.Attrs{
			"group": "pp", "size": place.PP, "peer": place.Stage() - 1,
			"shape": []int{g.f.Rows, g.f.Tokens, g.c.Hidden}, "dtype": "f32",
		})
	}
	x := g.embed()
	if !g.fam.rotary {
		x = g.apply("add", nil, x, g.learned())
	}
	return x
}

// leave is what the stage computes beside its cache.
func (g *grapher) leave(x *ir.Value) []*ir.Value {
	place := g.f.Place
	if !place.Last() {
		g.at("stage output")
		g.apply("send", ir.Attrs{"group": "pp", "size": place.PP, "peer": place.Stage() + 1}, x)
		return nil
	}
	if g.f.Logits == None {
		return nil
	}
	g.at("final norm")
	if g.f.Logits == Last {
		x = g.reshape(x, g.f.Rows*g.f.Tokens, g.c.Hidden)
		x = g.apply("gather", nil, x, g.last)
	}
	logits := g.head(g.norm(finalNorm, x))
	g.name(logits, "logits")
	if !g.f.Leads {
		return []*ir.Value{logits}
	}
	return append([]*ir.Value{logits}, g.leads(logits)...)
}

// leads are the two largest logits of each row and their tokens, in a vocabulary of one
// token that one.
func (g *grapher) leads(logits *ir.Value) []*ir.Value {
	if g.err != nil {
		return nil
	}
	g.line++
	g.b.At(ir.Pos{Source: g.region.String(), Line: g.line})
	list, err := g.b.ApplyN("top_k", ir.Attrs{"k": min(2, g.c.Vocab)}, logits)
	if g.err = err; err != nil {
		return nil
	}
	g.name(list[0], "leads")
	g.name(list[1], "leading")
	if g.f.Tokens == 1 {
		first := g.apply("narrow", ir.Attrs{"axis": 1, "start": 0, "length": 1}, list[1])
		next := g.cast(first, tensor.I32)
		if g.err != nil {
			return nil
		}
		g.name(next, "next")
		list = append(list, next)
	}
	return list
}

// layer adds layer l to the hidden state. Where nobody needs the result it ends
// with the cache.
func (g *grapher) layer(l int, x *ir.Value) *ir.Value {
	g.inLayer(l, "attention norm")
	h := g.norm(layerName(l, attentionNorm), x)
	q := g.append(l, h)
	if g.f.Logits == None && l == g.c.Layers-1 {
		return nil
	}
	x = g.apply("add", nil, x, g.attend(l, q))
	g.inLayer(l, "ff norm")
	h = g.norm(layerName(l, ffNorm), x)
	return g.apply("add", nil, x, g.feedForward(l, h))
}

func (g *grapher) norm(name string, x *ir.Value) *ir.Value {
	attrs := ir.Attrs{"eps": g.c.Eps}
	if g.fam.layerNorm {
		return g.apply("layer_norm", attrs, x, g.param(name+weight), g.param(name+bias))
	}
	return g.apply("rms_norm", attrs, x, g.param(name+weight))
}

func (g *grapher) feedForward(l int, x *ir.Value) *ir.Value {
	if !g.fam.gated {
		g.inLayer(l, "ff up")
		h := g.apply("gelu", ir.Attrs{"approximate": "tanh"}, g.columns(layerName(l, ffUp), x))
		g.inLayer(l, "ff down")
		return g.rows(layerName(l, ffDown), h)
	}
	g.inLayer(l, "ff gate and up")
	wide := g.beside(l, x, ffGateUp)
	h := g.apply("mul", nil, g.apply("silu", nil, wide[0]), wide[1])
	g.inLayer(l, "ff down")
	return g.rows(layerName(l, ffDown), h)
}
