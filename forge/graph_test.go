package forge_test

import (
	"strings"
	"testing"

	"forgekernel/forge"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// affine builds x * w + b for constants w and b.
func affine(t *testing.T, w, b *tensor.Tensor) *ir.Graph {
	t.Helper()
	builder := ir.NewBuilder(op.Registry, "affine")
	must := func(v *ir.Value, err error) *ir.Value {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	x := must(builder.Input("x", ir.F32(2)))
	y := must(builder.Apply("mul", nil, x, must(builder.Const(w))))
	g, err := builder.Finish(must(builder.Apply("add", nil, y, must(builder.Const(b)))))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A program keeps its constants, whatever becomes of the tensors and of the
// graph that it was made from.
func TestFromGraphOwnsItsConstants(t *testing.T) {
	w, b := forge.From([]float64{2, 3}), forge.From([]float64{10, 20})
	g := affine(t, w, b)
	p, err := forge.FromGraph(g)
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.Run(t.Context(), forge.Ones(2))
	if err != nil || want.At(0) != 12 || want.At(1) != 23 {
		t.Fatalf("affine(1, 1) is %v, %v", want, err)
	}
	before, err := p.Dump("trace")
	if err != nil {
		t.Fatal(err)
	}
	w.Set(100, 0)
	b.Set(100, 1)
	for _, n := range g.Nodes {
		if c := n.Tensor("value"); c != nil {
			c.Set(-1, 0)
		}
	}
	g.Nodes, g.Outputs = nil, nil
	got, err := p.Run(t.Context(), forge.Ones(2))
	if err != nil || !tensor.Identical(got, want) {
		t.Errorf("after changing the sources affine(1, 1) is %v, %v", got, err)
	}
	if after, _ := p.Dump("trace"); after != before {
		t.Errorf("the program changed:\n%s\n%s", before, after)
	}
	if a := p.Check(forge.Ones(2)); !a.OK() {
		t.Errorf("the reference changed: %+v", a)
	}
}

func TestFromGraphRefuses(t *testing.T) {
	g := affine(t, forge.Ones(2), forge.Ones(2))
	if _, err := forge.FromGraph(g, forge.OnBackend("abacus")); err == nil || !strings.Contains(err.Error(), `no backend "abacus"`) {
		t.Errorf("an unknown backend: %v", err)
	}
	if _, err := forge.FromGraph(g, forge.After("sorcery")); err == nil || !strings.Contains(err.Error(), `no pass "sorcery"`) {
		t.Errorf("an unknown pass: %v", err)
	}
	g.Outputs = nil
	if _, err := forge.FromGraph(g); err == nil {
		t.Error("an invalid graph is accepted")
	}
}

// Every snapshot of a program can be dumped and resumed from, with the same
// outcome to the bit.
func TestDumpResumes(t *testing.T) {
	for name := range programs(t) {
		p := compileProgram(t, name)
		args, err := p.RandomInputs(5)
		if err != nil {
			t.Fatal(err)
		}
		want, err := p.RunAll(t.Context(), args...)
		if err != nil {
			t.Fatal(err)
		}
		final := p.Module().String()
		for i, s := range p.Snapshots() {
			text, err := p.Dump(s.Pass)
			if err != nil {
				t.Fatal(err)
			}
			resumed, err := forge.FromIR(text, forge.Named(name+".ir"))
			if err != nil {
				t.Fatalf("%s after %s: %v", name, s.Pass, err)
			}
			if got, want := len(resumed.Snapshots()), len(p.Snapshots())-i; got != want {
				t.Errorf("%s after %s: %d snapshots, want %d", name, s.Pass, got, want)
			}
			if resumed.Module().String() != final {
				t.Errorf("%s after %s ends as\n%s\nnot as\n%s", name, s.Pass, resumed.IR().Code, p.IR().Code)
			}
			got, err := resumed.RunAll(t.Context(), args...)
			if err != nil || !tensor.Identical(got[0], want[0]) {
				t.Errorf("%s after %s gives another result: %v", name, s.Pass, err)
			}
		}
		if _, err := p.Dump("sorcery"); err == nil || !strings.Contains(err.Error(), "there are trace, ") {
			t.Errorf("an unknown snapshot: %v", err)
		}
	}
}

// The text may name the pass itself, and After overrules it.
func TestFromIRHeader(t *testing.T) {
	const body = "graph f(%x: f32[2]) {\n  %y: f32[2] = relu %x\n  return %y\n}\n"
	for _, c := range []struct {
		text  string
		opts  []forge.Option
		first string
	}{
		{body, nil, "trace"},
		{"# after dead-code\n" + body, nil, "dead-code"},
		{"# after  dead-code \r\n" + body, nil, "dead-code"},
		{"# a note\n" + body, nil, "trace"},
		{"# after dead-code\n" + body, []forge.Option{forge.After("trace")}, "trace"},
		{body, []forge.Option{forge.After("dead-code")}, "dead-code"},
	} {
		p, err := forge.FromIR(c.text, c.opts...)
		if err != nil || p.Snapshots()[0].Pass != c.first {
			t.Errorf("%q: %v, first snapshot %v", c.text, err, p.Snapshots()[0].Pass)
		}
	}
	for text, want := range map[string]string{
		"":                           `source:1:1: expected "graph"`,
		"# after sorcery\n" + body:   `no pass "sorcery"`,
		"graph f(%x: f32[2]) {\n}\n": "expected",
	} {
		if _, err := forge.FromIR(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Inputs of integers index whatever they are used with.
func TestRandomInputsOfIntegers(t *testing.T) {
	p, err := forge.FromIR("graph f(%x: f32[2], %i: i64[40], %m: bool[40]) {\n  %y: f32[2] = relu %x\n  return %y, %i, %m\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	args, err := p.RandomInputs(1)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := p.RandomInputs(1)
	trues := 0
	for i, a := range args {
		if !tensor.Identical(a, again[i]) {
			t.Errorf("input %d differs between equal seeds", i)
		}
	}
	for _, b := range args[2].Bool() {
		if b {
			trues++
		}
	}
	if trues == 0 || trues == 40 {
		t.Errorf("%d of 40 are true", trues)
	}
}

func FuzzFromIR(f *testing.F) {
	f.Add("# after dead-code\ngraph f(%x: f32[2]) {\n  %y: f32[2] = relu %x\n  return %y, %x\n}\n")
	f.Add("# after \ngraph f() {\n  %c: f32[] = const {value = f32[] 1.5}\n  return %c\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := forge.FromIR(text)
		if err != nil || len(text) > 1<<12 {
			return
		}
		again, err := p.Dump(p.Snapshots()[0].Pass)
		if err != nil {
			t.Fatal(err)
		}
		q, err := forge.FromIR(again)
		if err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		if q.Module().String() != p.Module().String() || q.Snapshots()[0].Pass != p.Snapshots()[0].Pass {
			t.Errorf("the dump\n%s\nends as\n%s\nnot as\n%s", again, q.Module(), p.Module())
		}
	})
}

// A program that is given its constants uses the tensors themselves.
func TestSharedConstants(t *testing.T) {
	g := affine(t, forge.From([]float64{2, 3}), forge.From([]float64{10, 20}))
	given := make(map[*tensor.Tensor]bool)
	for _, n := range g.Nodes {
		given[n.Tensor("value")] = true
	}
	for range 2 {
		p, err := forge.FromGraph(g, forge.SharedConstants())
		if err != nil {
			t.Fatal(err)
		}
		held := 0
		for _, n := range p.Module().Nodes {
			if c := n.Tensor("value"); c != nil && given[c] {
				held++
			}
		}
		got, err := p.Run(t.Context(), forge.Ones(2))
		if err != nil || got.At(0) != 12 || got.At(1) != 23 || held != 2 {
			t.Errorf("affine(1, 1) is %v, %v; the program has %d of the 2 tensors", got, err, held)
		}
	}
}
