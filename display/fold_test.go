package display

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A stack of layers is one layer, drawn alike however often it comes; what every layer
// has of its own goes with it.
func TestFolded(t *testing.T) {
	var sizes []int
	for _, layers := range []int{2, 3, 24} {
		g, is := attentionGraph(layers).Folded()
		if !is || len(g.Clusters) != 1 || !strings.HasPrefix(g.Clusters[0].Label, fmt.Sprintf("%d times these 17 nodes", layers)) {
			t.Fatalf("%d layers: %v %+v", layers, is, g.Clusters)
		}
		sizes = append(sizes, len(g.Nodes), len(g.Edges))
		inside := 0
		names := make(map[string]bool)
		for _, n := range g.Nodes {
			names[n.ID] = true
			if n.Cluster != "" {
				inside++
			}
		}
		if inside != 17 || !names["out"] || !names["x"] || !names["wq0"] || names["wq1"] {
			t.Errorf("%d layers: %d nodes in the frame, of %v", layers, inside, slices.Sorted(maps.Keys(names)))
		}
		back := 0
		for _, e := range g.Edges {
			if !names[e.From] || !names[e.To] {
				t.Errorf("an edge from %s to %s", e.From, e.To)
			}
			if strings.HasSuffix(e.Label, "more") {
				back++
			}
		}
		if back != 1 {
			t.Errorf("%d layers: %d edges back", layers, back)
		}
	}
	if !slices.Equal(sizes[:2], sizes[2:4]) || !slices.Equal(sizes[:2], sizes[4:]) {
		t.Errorf("nodes and edges: %v", sizes)
	}
}

// What does not repeat in every connection and type is not folded.
func TestNotFolded(t *testing.T) {
	chain := func(label func(i int) string, from func(i int) int) Graph {
		g := Graph{Nodes: []Node{{ID: "0"}}}
		for i := 1; i <= 60; i++ {
			g.Nodes = append(g.Nodes, Node{ID: fmt.Sprint(i), Label: label(i)})
			g.Edges = append(g.Edges, Edge{From: fmt.Sprint(from(i)), To: fmt.Sprint(i)})
		}
		return g
	}
	before := func(i int) int { return i - 1 }
	rng := rand.New(rand.NewPCG(1, 1))
	if g, is := chain(func(int) string { return "same" }, before).Folded(); !is || len(g.Nodes) != 2 {
		t.Errorf("a chain of equal nodes: %v, %d nodes", is, len(g.Nodes))
	}
	for name, g := range map[string]Graph{
		"names":       chain(func(i int) string { return fmt.Sprint(i) }, before),
		"connections": chain(func(int) string { return "same" }, func(i int) int { return max(0, i-1-rng.IntN(3)) }),
		"few":         chain(func(i int) string { return fmt.Sprint(i / 8) }, before),
		"small":       attentionGraph(1),
	} {
		if f, is := g.Folded(); is {
			t.Errorf("%s: %d nodes of %d", name, len(f.Nodes), len(g.Nodes))
		}
	}
}

// The folded picture is what shows, and the whole one unfolds without a script.
func TestUnfolding(t *testing.T) {
	b := attentionGraph(12).Display()
	page, _ := b.Data[mimeHTML].(string)
	if strings.Count(page, "<img ") != 2 || !strings.Contains(page, "<details><summary") || !strings.Contains(page, "all 410 nodes") {
		t.Errorf("page %.300s", page)
	}
	if text := b.text(); !strings.Contains(text, "12 times these 17 nodes") || b.Data[mimePNG] == nil || b.Data[mimeSVG] == nil {
		t.Errorf("%d forms, text %s", len(b.Data), text)
	}
	whole := attentionGraph(12)
	whole.Whole = true
	if b := whole.Display(); b.Data[mimeHTML] != nil || !strings.Contains(b.text(), "410 nodes") {
		t.Error("the whole graph is folded")
	}
}

// Folding never loses what is connected to what is drawn, whatever the graph.
func FuzzFolded(f *testing.F) {
	f.Add(uint64(1), 3, 12)
	f.Add(uint64(7), 1, 40)
	f.Fuzz(func(t *testing.T, seed uint64, kinds, nodes int) {
		if kinds < 1 || kinds > 9 || nodes < 1 || nodes > 200 {
			return
		}
		g := randomGraph(nodes, seed)
		for i := range g.Nodes {
			g.Nodes[i].Label = fmt.Sprint((seed + uint64(i)) % uint64(kinds))
			g.Nodes[i].Class = ""
		}
		folded, is := g.Folded()
		if !is {
			return
		}
		if len(folded.Nodes) > len(g.Nodes)-foldedSaves {
			t.Errorf("%d nodes of %d", len(folded.Nodes), len(g.Nodes))
		}
		if _, err := folded.SVG(); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkFolded looks for repeats among nodes of one kind, of which none repeats.
func BenchmarkFolded(b *testing.B) {
	g := randomGraph(2000, 1)
	for i := range g.Nodes {
		g.Nodes[i].Label, g.Nodes[i].Class = "same", ""
	}
	for b.Loop() {
		g.Folded()
	}
}
