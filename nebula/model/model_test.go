package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/shard"
)

// TestRef opens every kind of model again by its reference.
func TestRef(t *testing.T) {
	for _, path := range append(checkpoints(t, fixtures), "") {
		var m *Model
		var err error
		if path == "" {
			m, err = Seeded(small()[3], 1<<63+5)
		} else {
			m, err = Open(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := OpenRef(m.Ref())
		if err != nil {
			t.Fatal(err)
		}
		s := sequence(1, 3, m.Config.Vocab)
		if at, ok := m.Path(); ok != (path != "") || ok && !strings.HasSuffix(at, path) {
			t.Errorf("%s: its path is %s, %v", path, at, ok)
		}
		if got, want := wide(t, again, tensor.F32, s), wide(t, m, tensor.F32, s); !tensor.Identical(got, want) || again.Ref() != m.Ref() {
			t.Errorf("%s: the reference %s opens another model", path, m.Ref())
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if _, err := m.Graph(Form{Place: shard.Single(), DType: tensor.F32, Rows: 1, Tokens: 1, Cache: contiguous()}); err == nil || !strings.HasSuffix(err.Error(), "the model is closed") {
			t.Errorf("%s: a closed model: %v", path, err)
		}
	}
	for _, ref := range []string{"seeded:", "seeded:x:{}", "seeded:1", "seeded:1:{}", "testdata/none", "graph.go", fixtures} {
		if m, err := OpenRef(ref); err == nil {
			t.Errorf("%q opens a model of family %s", ref, m.Config.Family)
		}
	}
}

// TestParts checks for a seed and for files that every rank's part of a parameter
// is the part of the whole, bit by bit.
func TestParts(t *testing.T) {
	models := []*Model{seed(t, small()[0]), seed(t, small()[3])}
	for _, path := range checkpoints(t, fixtures) {
		models = append(models, must(Open(path)))
	}
	for _, m := range models {
		whole := make(map[string]*tensor.Tensor)
		for _, p := range m.Config.Params(shard.Single()) {
			whole[p.Name] = must(m.load(p.DType(tensor.F32), p))
		}
		for _, place := range (shard.Layout{TP: 2, PP: 2}).Places() {
			for _, p := range m.Config.Params(place) {
				for _, dtype := range []tensor.DType{tensor.F32, tensor.BF16} {
					want := part(whole[p.Name], p)
					if got := must(m.load(p.DType(dtype), p)); !tensor.Identical(got, must(want.Convert(p.DType(dtype)))) {
						t.Fatalf("%s: %s of rank %d is not its part of the whole", m.Ref(), p.Name, place.Rank)
					}
				}
			}
		}
		m.Close()
	}
}

// part cuts a place's part out of a parameter, element by element.
func part(whole *tensor.Tensor, p Param) *tensor.Tensor {
	out := must(tensor.Zeros(whole.DType(), p.PartShape()...))
	cols := out.Dim(-1)
	for i := range out.Len() {
		r, c := i/cols, i%cols
		switch p.Axis {
		case whole.Rank() - 1:
			c += p.From
		case 0:
			r += p.From
		}
		out.SetElem(i, whole.Elem(r*whole.Dim(-1)+c))
	}
	return out
}

// constants are the weights of a graph.
func constants(g *ir.Graph) map[*tensor.Tensor]ir.Pos {
	list := make(map[*tensor.Tensor]ir.Pos)
	for _, n := range g.Nodes {
		if t := n.Tensor("value"); t != nil && t.Rank() > 0 {
			list[t] = n.Pos[0]
		}
	}
	return list
}

// TestSharedWeights checks that programs of one place hold one copy of a weight,
// until it is released.
func TestSharedWeights(t *testing.T) {
	m := seed(t, small()[2])
	f := Form{Place: shard.Single(), DType: tensor.F32, Rows: 1, Tokens: 1, Cache: paged(1), Logits: Last}
	first := constants(must(m.Graph(f)))
	f.Rows, f.Tokens, f.Cache, f.Logits = 3, 5, contiguous(), All
	for released := range 2 {
		for w, at := range constants(must(m.Graph(f))) {
			if _, ok := first[w]; ok != (released == 0) {
				t.Errorf("%v: the tensor is in two programs: %v, released %d times between", at, ok, released)
			}
		}
		m.Release()
	}
}

// TestRegions checks that every node of a program says where it belongs, before
// the passes and after them.
func TestRegions(t *testing.T) {
	for _, c := range small() {
		m := seed(t, c)
		for _, place := range (shard.Layout{TP: 2, PP: 2}).Places() {
			g := must(m.Graph(Form{Place: place, DType: tensor.BF16, Rows: 2, Tokens: 3, Cache: paged(2), Logits: Last}))
			r, err := pass.Run(g, pass.Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkRegions(t, c, place, g)
			checkRegions(t, c, place, r.Graph)
		}
	}
}

func checkRegions(t *testing.T, c Config, place shard.Place, g *ir.Graph) {
	t.Helper()
	from, to := place.Layers(c.Layers)
	seen := make(map[string]int)
	for _, n := range g.Nodes {
		if n.Op.Class == ir.Constant {
			continue
		}
		if len(n.Pos) == 0 {
			t.Fatalf("%s has no position", n.Op.Name)
		}
		r, ok := RegionOf(n.Pos[0])
		if !ok || r.Layer >= 0 && (r.Layer < from || r.Layer >= to) || r.String() != n.Pos[0].Source {
			t.Fatalf("%s stands at %v, which is read as %+v", n.Op.Name, n.Pos[0], r)
		}
		if strings.Contains(n.Op.Name, "kv_append") && r.Work() != "kv append" || strings.Contains(n.Op.Name, "attention") && r.Work() != "attention" {
			t.Errorf("%s is work of %s", n.Op.Name, r.Work())
		}
		seen[r.Work()]++
	}
	want := []string{"attention", "ff", "kv append", "pipeline", map[bool]string{true: "embedding", false: "head"}[place.First()]}
	for _, w := range want {
		if seen[w] == 0 {
			t.Errorf("rank %d: no node is work of %s: %v", place.Rank, w, seen)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("rank %d does %v, want %v", place.Rank, seen, want)
	}
}

// TestInterface checks names, order and types of inputs and outputs.
func TestInterface(t *testing.T) {
	m := seed(t, small()[1])
	place := func(rank int) shard.Place { return shard.Place{Layout: shard.Layout{TP: 2, PP: 2}, Rank: rank} }
	for _, c := range []struct {
		f    Form
		want string
	}{
		{Form{Place: place(1), Logits: Last, Cache: paged(2)},
			"tokens i32[2,3], pos i32[2], length i32[2], table i32[2,8], k0 bf16[19,3,4,4], v0 bf16[19,3,4,4], k1 bf16[19,3,4,4], v1 bf16[19,3,4,4] -> bf16[19,3,4,4], bf16[19,3,4,4], bf16[19,3,4,4], bf16[19,3,4,4]"},
		{Form{Place: place(3), Logits: Last, Cache: contiguous()},
			"pos i32[2], length i32[2], last i32[2], k2 bf16[2,3,32,4], v2 bf16[2,3,32,4] -> f32[2,37], bf16[2,3,32,4], bf16[2,3,32,4]"},
		{Form{Place: place(2), Logits: All, Cache: contiguous()},
			"pos i32[2], length i32[2], k2 bf16[2,3,32,4], v2 bf16[2,3,32,4] -> f32[2,3,37], bf16[2,3,32,4], bf16[2,3,32,4]"},
		{Form{Place: place(2), Logits: None, Cache: contiguous()},
			"pos i32[2], length i32[2], k2 bf16[2,3,32,4], v2 bf16[2,3,32,4] -> bf16[2,3,32,4], bf16[2,3,32,4]"},
	} {
		c.f.DType, c.f.Rows, c.f.Tokens = tensor.BF16, 2, 3
		g := must(m.Graph(c.f))
		var in, out []string
		for _, v := range g.Inputs {
			in = append(in, fmt.Sprint(v.Name, " ", v.Spec))
		}
		for _, v := range g.Outputs {
			out = append(out, v.Spec.String())
		}
		if got := strings.Join(in, ", ") + " -> " + strings.Join(out, ", "); got != c.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.f, got, c.want)
		}
	}
}

func TestFormErrors(t *testing.T) {
	m := seed(t, small()[2])
	for _, c := range []struct {
		change func(*Form)
		want   string
	}{
		{func(f *Form) { f.Place.TP = 3 }, "TP 3: beyond the 2 KV heads TP must be a multiple of them, so that each is held by equally many ranks; the nearest legal degrees are TP 2 and TP 4"},
		{func(f *Form) { f.Place.Rank = 1 }, "TP 1, PP 1 has ranks 0 to 0, not 1"},
		{func(f *Form) { f.DType = tensor.F16 }, "weights can be held as f32 or bf16, not f16"},
		{func(f *Form) { f.Rows = 0 }, "a batch of 0 rows of 1 tokens is none"},
		{func(f *Form) { f.Tokens = 33 }, "33 tokens are more than the context of 32"},
		{func(f *Form) { f.Tokens, f.Cache = 5, Contiguous{4} }, "5 tokens do not fit a cache of 4 positions"},
		{func(f *Form) { f.Cache = nil }, "a form needs a cache"},
		{func(f *Form) { f.Cache = Contiguous{} }, "a capacity of 0 positions is not a cache"},
		{func(f *Form) { f.Cache = Paged{4, 1 << 40, 1 << 40} }, "4 blocks of 1099511627776 positions, 1099511627776 to a row, are no cache"},
		{func(f *Form) { f.Cache = Contiguous{33} }, "a capacity of 33 positions is more than the context of 32"},
		{func(f *Form) { f.Cache = Paged{9, 4, 9} }, "9 blocks of 4 positions to a row are more than the context of 32 needs"},
		{func(f *Form) { f.Cache = Paged{1 << 40, 4, 2} }, "input k0: "},
		{func(f *Form) { f.Rows = 1 << 30 }, "input"},
		{func(f *Form) { f.Logits = 7 }, "there is no choice of logits 7"},
	} {
		f := Form{Place: shard.Single(), DType: tensor.F32, Rows: 1, Tokens: 1, Cache: paged(1), Logits: Last}
		c.change(&f)
		if _, err := m.Graph(f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", f, err, c.want)
		}
	}
}

// TestTokensOutside checks that a token of no rank is an error, not a zero, and so
// is a position beyond the context.
func TestTokensOutside(t *testing.T) {
	m := seed(t, small()[0])
	for _, tokens := range [][]int32{{-1}, {37}, {1 << 30}} {
		for _, tp := range []int{1, 2} {
			d := newDecoder(t, m, shard.Layout{TP: tp, PP: 1}, tensor.F32, 1, contiguous())
			f := d.form
			f.Tokens = 1
			_, errs := d.run(f, stepInputs(f, []int{0}, [][]int32{tokens}))
			if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), "is out of range") {
				t.Errorf("TP %d: token %d gives %v", tp, tokens[0], err)
			}
		}
	}
	g := must(m.Graph(Form{Place: shard.Single(), DType: tensor.F32, Rows: 1, Tokens: 2, Cache: Paged{Blocks: 7, BlockSize: 5, Width: 7}}))
	x, err := interp.New().Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	for length, ok := range map[int32]bool{32: true, 33: false} { // the second token is padding, or beyond the context
		named := map[string]*tensor.Tensor{"pos": must(tensor.From([]int{1}, []int32{31})), "table": must(tensor.From([]int{1, 7}, []int32{0, 1, 2, 3, 4, 5, 6})), "length": must(tensor.From([]int{1}, []int32{length}))}
		if _, err := x.Run(t.Context(), fillInputs(g, named)...); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "index 32 at position [0,1]") {
			t.Errorf("position 31, length %d of a context of 32: %v", length, err)
		}
	}
}
