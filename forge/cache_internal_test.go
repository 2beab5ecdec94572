package forge

import (
	"context"
	"fmt"
	"testing"
)

// The programs that were used longest ago are forgotten when all together hold too much,
// never the one that was used last.
func TestCacheBytes(t *testing.T) {
	p, err := Compile("def f(x: f32[64]):\n    return sum(softmax(x))\n", OnBackend("interp"))
	if err != nil {
		t.Fatal(err)
	}
	if p.holds() < 256 {
		t.Fatalf("a program with 64 intermediate values holds %d bytes", p.holds())
	}
	for _, c := range []struct{ limit, programs int64 }{{3, 3}, {2, 2}, {1, 1}} {
		kept := cache{limit: c.limit * p.holds()}
		for i := range 5 {
			if _, err := kept.get(t.Context(), fmt.Sprint(i), func(*Program) bool { return true }, func(context.Context) (*Program, error) { return p, nil }); err != nil {
				t.Fatal(err)
			}
		}
		if s := kept.counts(); int64(s.Programs) != c.programs || int64(s.Evictions) != 5-c.programs || kept.bytes != c.programs*p.holds() {
			t.Errorf("%d bytes hold %d programs of %d, after %d evictions", kept.limit, s.Programs, p.holds(), s.Evictions)
		}
	}
	small := cache{limit: 1}
	if _, err := small.get(t.Context(), "0", func(*Program) bool { return true }, func(context.Context) (*Program, error) { return p, nil }); err != nil || small.counts().Programs != 1 {
		t.Errorf("a program larger than the limit: %v, %v", small.counts(), err)
	}
}
