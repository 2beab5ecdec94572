package pass

import (
	"strings"
	"testing"
)

// TestWideWeightBound checks the bound without a weight of that size.
func TestWideWeightBound(t *testing.T) {
	g := parse(t, `graph f(%x: f32[3,2]) {
  %a: f32[2,1] = const {value = f32[2,1] 1.0 2.0}
  %0: f32[3,1] = matmul %x, %a
  %1: f32[3,1] = neg %0
  return %1
}`)
	p := &projections{limit: MaxWideBytes, rewriter: newRewriter(g, &report{})}
	n := g.Nodes[1]
	if reason, _ := p.blocked(n, MaxWideBytes-8); reason != "" {
		t.Errorf("a weight of exactly the bound is refused: %s", reason)
	}
	reason, blockers := p.blocked(n, MaxWideBytes-7)
	if !strings.HasPrefix(reason, "the wide weight would have 1048577 bytes") || len(blockers) != 1 || blockers[0] != n.In[1] {
		t.Errorf("got %q, %v", reason, blockers)
	}
}
