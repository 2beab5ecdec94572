package plan

import (
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/ir"
)

// sample has a shared operand, a view, a donation in place and one by
// declaration, and an output that is a part of a value.
const sample = `graph sample(%x: f32[4,16], %cache: f32[16]) {
  %a: f32[4,16] = t_mix %x {dtype = "f32", shape = [4, 16]}
  %b: f32[4,16] = t_mix %a {dtype = "f32", shape = [4, 16]}
  %v: f32[16,4] = transpose %b {perm = [1, 0]}
  %c: f32[4,16] = relu %a
  %d: f32[4,16] = t_mix %v, %c {dtype = "f32", shape = [4, 16]}
  %n: i64[32] = t_mix %d {dtype = "i64", shape = [32]}
  %next: f32[16] = t_append %cache, %d
  %h, %t = t_halves %d
  %y: f32[8] = t_mix %n, %c {dtype = "f32", shape = [8]}
  return %y, %next, %t
}
`

func samplePlan(t *testing.T) *Plan {
	t.Helper()
	text := strings.Replace(sample, "%h, %t =", "%h: f32[2,16], %t: f32[2,16] =", 1)
	g, err := ir.Parse(testOps, text)
	if err != nil {
		t.Fatal(err)
	}
	return mustPlan(t, g, Options{})
}

func (p *Plan) value(name string) *Value {
	i := slices.IndexFunc(p.Values, func(v Value) bool { return v.Name == name })
	return &p.Values[i]
}

func TestSamplePlan(t *testing.T) {
	p := samplePlan(t)
	for _, tt := range []struct {
		name    string
		place   Place
		viewOf  string
		donated string
		copied  bool
	}{
		{"x", InInput, "", "", false},
		{"v", InSlot, "b", "", false},
		{"c", InSlot, "", "a", false},
		{"next", InInput, "", "cache", false},
		{"t", InSlot, "d", "", true},
		{"y", InOutput, "", "", false},
	} {
		v := p.value(tt.name)
		if v.Place != tt.place || v.ViewOf != tt.viewOf || v.Donated != tt.donated || v.Copied != tt.copied {
			t.Errorf("%+v, want %+v", v, tt)
		}
	}
	if v := p.value("d"); v.End != len(p.Steps)-1 {
		t.Errorf("the base of an output ends in step %d", v.End)
	}
	if p.value("b").End != p.value("d").Start {
		t.Errorf("%%b is read through its view in step %d, and lives to %d", p.value("d").Start, p.value("b").End)
	}
	if p.Naive != 4*256+256 || p.Scratch != 128 {
		t.Errorf("naive %d, scratch %d", p.Naive, p.Scratch)
	}
}

// Each corruption of a good plan is noticed, and named.
func TestVerifyRefuses(t *testing.T) {
	type entry = map[string]struct {
		corrupt func(p *Plan)
		want    string
	}
	for name, tt := range (entry{
		"overlap":               {func(p *Plan) { p.value("b").Offset = p.value("a").Offset; p.value("b").Slot = p.value("a").Slot }, "%v: it stands elsewhere than %b"},
		"overlap with view":     {func(p *Plan) { move(p, "a", "b", "v") }, "%a and %b share bytes"},
		"slot too small":        {func(p *Plan) { p.Slots[p.value("a").Slot].Bytes -= 4 }, "reaches beyond"},
		"negative offset":       {func(p *Plan) { p.value("a").Offset = -64 }, "reaches beyond"},
		"misaligned":            {func(p *Plan) { p.Slots[p.value("n").Slot].Bytes += 4; p.value("n").Offset = 4 }, "not a multiple"},
		"no such slot":          {func(p *Plan) { p.value("a").Slot = 9 }, "no slot 9"},
		"no slot":               {func(p *Plan) { p.value("a").Slot = -1 }, "cannot stand in place"},
		"type of slot":          {func(p *Plan) { p.value("n").Slot = p.value("a").Slot }, "cannot stand in slot"},
		"device of slot":        {func(p *Plan) { p.Slots[p.value("n").Slot].Device = "cuda:0" }, "on cuda:0"},
		"view elsewhere":        {func(p *Plan) { p.value("t").Slot = p.value("n").Slot; p.value("t").Spec = p.value("n").Spec }, "is not that of %t"},
		"strides of view":       {func(p *Plan) { p.value("v").Strides = []int{4, 1} }, "as a view of %b"},
		"strides of result":     {func(p *Plan) { p.value("a").Strides = []int{1, 4} }, "has to be dense"},
		"view of another":       {func(p *Plan) { p.value("v").ViewOf = "a" }, "cannot be a view of %a"},
		"place of input":        {func(p *Plan) { p.value("x").Place = InOutput }, "an input stands in"},
		"place of result":       {func(p *Plan) { p.value("y").Place = InConstant }, "the result of t_mix stands"},
		"early death":           {func(p *Plan) { p.value("a").End-- }, "is read in step"},
		"death before view":     {func(p *Plan) { p.value("b").End = p.value("b").Start }, "dies before its view"},
		"late birth":            {func(p *Plan) { p.value("b").Start++ }, "but is produced in"},
		"output dies":           {func(p *Plan) { p.value("y").End = p.value("y").Start - 1 }, "cannot live from"},
		"silent donation":       {func(p *Plan) { p.value("c").Donated = "" }, "share bytes"},
		"donation of another":   {func(p *Plan) { p.value("c").Donated = "x" }, "is no operand to take over"},
		"donation to a product": {func(p *Plan) { p.value("y").Donated = "n" }, "does not stand where"},
		"undeclared takeover":   {func(p *Plan) { p.value("next").Donated = "" }, "without a donation"},
		"unwritten":             {func(p *Plan) { p.value("t").ViewOf = ""; p.value("t").Offset = 0 }, "no step computes it"},
		"order":                 {func(p *Plan) { slices.Reverse(p.Graph.Nodes) }, "before it is defined"},
		"step":                  {func(p *Plan) { p.Steps[0], p.Steps[1] = p.Steps[1], p.Steps[0] }, "step 0 is not"},
		"missing step":          {func(p *Plan) { p.Steps = p.Steps[1:] }, "step 0 is not"},
		"missing value":         {func(p *Plan) { p.Values = p.Values[1:] }, "entry 0 is not"},
		"spare value":           {func(p *Plan) { p.Values = append(p.Values, p.Values[0]) }, "entries of"},
		"planned":               {func(p *Plan) { p.Planned-- }, "the slots have"},
		"naive":                 {func(p *Plan) { p.Naive++ }, "intermediate values have"},
		"lower bound":           {func(p *Plan) { p.Lower++ }, "are live"},
		"bound":                 {func(p *Plan) { p.Bound = p.Lower + 1 }, "out of order"},
		"scratch":               {func(p *Plan) { p.Scratch = 0 }, "beside the slots"},
		"live":                  {func(p *Plan) { p.Steps[1].Live++ }, "are live in step 1"},
	}) {
		t.Run(name, func(t *testing.T) {
			p := samplePlan(t)
			tt.corrupt(p)
			if err := Verify(p); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// move puts values where another one stands.
func move(p *Plan, to string, names ...string) {
	for _, name := range names {
		p.value(name).Slot, p.value(name).Offset = p.value(to).Slot, p.value(to).Offset
	}
}

// A kernel that reads a storage in another order than it writes cannot overwrite
// it; the planner does not try, and the checker does not accept it.
func TestInPlaceNeedsOrder(t *testing.T) {
	g, err := ir.Parse(testOps, `graph square(%x: f32[4,4]) {
  %a: f32[4,4] = t_mix %x {dtype = "f32", shape = [4, 4]}
  %v: f32[4,4] = transpose %a {perm = [1, 0]}
  %s: f32[4,4] = add %a, %v
  %y: f32[] = t_mix %s {dtype = "f32", shape = []}
  return %y
}
`)
	if err != nil {
		t.Fatal(err)
	}
	p := mustPlan(t, g, Options{})
	if p.value("s").Donated != "" {
		t.Error("s overwrites a, which it reads in two orders")
	}
	move(p, "a", "s")
	p.value("s").Donated = "a"
	if err := Verify(p); err == nil || !strings.Contains(err.Error(), "also reads %v") {
		t.Errorf("in place of a storage that is read in two orders: %v", err)
	}
	p.value("s").Donated = "v"
	if err := Verify(p); err == nil || !strings.Contains(err.Error(), "does not stand where %v") {
		t.Errorf("in place of a transposed view: %v", err)
	}
}

// A graph in which a value is read after it was donated has no plan, though only
// a planner that knows where views stand can tell.
func TestDonationErrors(t *testing.T) {
	p := samplePlan(t)
	g := p.Graph.Clone()
	g.Outputs[0] = g.Inputs[1] // the cache that t_append took
	if _, err := New(g, Options{}); err == nil || !strings.Contains(err.Error(), "the output %cache is overwritten by %next = t_append") {
		t.Errorf("an output that was donated: %v", err)
	}
	g = p.Graph.Clone()
	last := g.Nodes[len(g.Nodes)-1]
	last.In[0] = g.Inputs[1]
	if _, err := New(g, Options{}); err == nil || !strings.Contains(err.Error(), "reads %cache, whose storage %next = t_append has taken over") {
		t.Errorf("a read of what was donated (by %v): %v", last.Out[0], err)
	}
}
