package display

import (
	"fmt"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	before := Graph{Name: "f after a", Nodes: []Node{
		{ID: "x", Sub: "f32[2]"}, {ID: "h", Label: "exp", Sub: "f32[2]"}, {ID: "y", Label: "add", Sub: "f32[2]"}, {ID: "z", Label: "mul"},
	}, Edges: []Edge{{From: "x", To: "h"}, {From: "h", To: "y"}, {From: "y", To: "z"}}}
	after := Graph{Name: "after b", Nodes: []Node{
		{ID: "x", Sub: "f32[2]"}, {ID: "n", Label: "norm", Sub: "f32[2]"}, {ID: "y", Label: "add", Sub: "f16[2]"}, {ID: "z", Label: "mul", Cluster: "k"},
	}, Edges: []Edge{{From: "x", To: "n"}, {From: "n", To: "y"}, {From: "y", To: "z"}}}
	d := before.Diff(after)
	var got []string
	for _, n := range d.Nodes {
		got = append(got, fmt.Sprintf("%s %q %s %.14q", n.ID, n.Label, n.Class, n.Tooltip))
	}
	const want = `x "x" same ""|n "+\u00a0norm" added ""|y "~\u00a0add" changed "was add f32[2]"|z "~\u00a0mul" changed "was in no clus"|h "−\u00a0exp" removed ""`
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got %s\nwant %s", s, want)
	}
	if text := d.ASCII(); !strings.Contains(text, "+ norm(x)") || !strings.Contains(text, "− exp(x)") {
		t.Error(text)
	}
	if d.Name != "f after a → after b" || len(d.Edges) != 5 {
		t.Errorf("%q with %d edges", d.Name, len(d.Edges))
	}
}

// A large graph in which little happened shows where it did.
func TestDiffOfLarge(t *testing.T) {
	before, after := attentionGraph(4), attentionGraph(4)
	after.Nodes[60].Label = "another"
	d := before.Diff(after)
	if len(d.Nodes) > 8 || !strings.Contains(d.Name, "that are the same") {
		t.Errorf("%d nodes, %q", len(d.Nodes), d.Name)
	}
	if d = before.Diff(before); len(d.Nodes) != 0 || !strings.Contains(d.Name, "without 138 nodes that are the same") {
		t.Errorf("%d nodes, %q", len(d.Nodes), d.Name)
	}
	if _, err := d.SVG(); err != nil {
		t.Error(err)
	}
}
