package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/ir"
)

// branches has a wide value whose reader frees it and a narrow one that does
// not matter; names run against program order.
const branches = `graph branches(%x: f32[64]) {
  %9: f32[64] = t_mix %x {dtype = "f32", shape = [64]}
  %8: f32[16] = t_mix %x {dtype = "f32", shape = [16]}
  %7: f32[128] = t_mix %9 {dtype = "f32", shape = [128]}
  %6: f32[2] = t_mix %7 {dtype = "f32", shape = [2]}
  %5: f32[2] = t_mix %8 {dtype = "f32", shape = [2]}
  %4: f32[2] = t_mix %6, %5 {dtype = "f32", shape = [2]}
  return %4
}
`

func TestPolicies(t *testing.T) {
	g, err := ir.Parse(testOps, branches)
	if err != nil {
		t.Fatal(err)
	}
	a, err := analyse(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"freed - produced":      "8 5 9 7 6 4",
		"freed - 2 produced":    "8 5 9 7 6 4",
		"freed - produced/2":    "8 5 9 7 6 4",
		"least produced first":  "8 5 9 7 6 4",
		"program order":         "9 8 7 6 5 4",
		"reverse program order": "8 5 9 7 6 4",
	}
	for _, p := range policies {
		var names []string
		for _, k := range a.schedule(p) {
			names = append(names, a.nameOf(k))
		}
		if got := strings.Join(names, " "); got != want[p.name] {
			t.Errorf("%s: %s, want %s", p.name, got, want[p.name])
		}
	}
}

// The six policies differ where it matters: each is alone in something on some
// graph.
func TestPoliciesDiffer(t *testing.T) {
	wins := make(map[string]bool)
	for seed := range uint64(300) {
		a, err := analyse(randomGraph(seed, 25), nil)
		if err != nil {
			t.Fatal(err)
		}
		orders := make(map[string]int)
		var list []string
		for _, p := range policies {
			var b strings.Builder
			for _, k := range a.schedule(p) {
				b.WriteString(a.nameOf(k) + " ")
			}
			list = append(list, b.String())
			orders[b.String()]++
		}
		for i, p := range policies {
			wins[p.name] = wins[p.name] || orders[list[i]] == 1
		}
	}
	for _, p := range policies {
		if !wins[p.name] {
			t.Errorf("%q never orders kernels as no other policy does", p.name)
		}
	}
}

// Kernels that other ranks observe stay in program order, whatever their names
// and sizes.
func TestEffectsKeepOrder(t *testing.T) {
	g, err := ir.Parse(testOps, `graph ranks(%x: f32[64], %y: f32[2]) {
  %9: f32[64] = all_reduce %x {size = 2}
  %8: f32[2] = all_reduce %y {size = 2}
  %7: f32[64] = all_reduce %x {reduce = "max", size = 2}
  return %9, %8, %7
}
`)
	if err != nil {
		t.Fatal(err)
	}
	a, err := analyse(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range policies {
		if order := a.schedule(p); !slices.IsSorted(order) {
			t.Errorf("%s: %v", p.name, order)
		}
	}
}

// Values on different devices, or of different types, never share a slot.
func TestDevicesDoNotShare(t *testing.T) {
	g, err := ir.Parse(testOps, `graph devices(%x: f32[64], %y: f32[64] on cuda:0) {
  %a: f32[64] = exp %x
  %b: f32[] = sum %a
  %c: f32[64] on cuda:0 = exp %y
  %d: f32[] on cuda:0 = sum %c
  return %b, %d
}
`)
	if err != nil {
		t.Fatal(err)
	}
	p := mustPlan(t, g, Options{})
	if len(p.Slots) != 2 || p.value("a").Slot == p.value("c").Slot {
		t.Errorf("slots %+v", p.Slots)
	}
	for i, s := range p.Slots {
		want := []string{"slot 0 f32", "slot 1 f32 on cuda:0"}[i]
		if s.name(i) != want {
			t.Errorf("%s, want %s", s.name(i), want)
		}
	}
}

// An empty graph, and values without elements, need no memory.
func TestNothing(t *testing.T) {
	g, err := ir.Parse(testOps, "graph empty(%x: f32[0,3]) {\n  %a: f32[0,3] = exp %x\n  %b: f32[0,3] = neg %a\n  return %b, %x\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	p := mustPlan(t, g, Options{})
	if p.Planned != 0 || p.Naive != 0 || len(p.Slots) != 0 || p.Ratio() != 1 {
		t.Errorf("%s", p.Headline())
	}
	g, err = ir.Parse(testOps, "graph none(%x: f32[3]) {\n  return %x\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	p = mustPlan(t, g, Options{})
	if !p.value("x").Copied || len(p.Steps) != 0 {
		t.Errorf("an input that is an output: %+v", p.value("x"))
	}
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
}
