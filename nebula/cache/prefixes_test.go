package cache

import "testing"

// count is so many tokens, each one more than that before it.
func count(from, n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(from + i)
	}
	return list
}

// TestPrefixes checks guesses against what was sent, in a pool that forgets.
func TestPrefixes(t *testing.T) {
	p := NewPrefixes(4, 6)
	p.Add(count(0, 14)) // three full blocks
	p.Add(count(100, 4))
	for _, c := range []struct {
		prompt []int32
		want   int
	}{
		{nil, 0}, {count(0, 4), 0}, {count(0, 5), 4}, {count(0, 12), 8}, {count(0, 13), 12}, {count(0, 30), 12},
		{count(4, 9), 0}, // the same tokens, after others
		{append(count(0, 8), 1, 2, 3, 4, 5), 8},
		{count(100, 9), 4},
	} {
		if got := p.Match(c.prompt); got != c.want {
			t.Errorf("of %v there are %d tokens, not %d", c.prompt, got, c.want)
		}
	}
	p.Add(count(200, 12)) // seven blocks: the end of the oldest goes
	if a, b, c := p.Match(count(0, 20)), p.Match(count(100, 20)), p.Match(count(200, 20)); a != 8 || b != 4 || c != 12 {
		t.Errorf("with 7 blocks for 6 there are %d, %d and %d tokens", a, b, c)
	}
	p.Add(count(0, 8)) // and now it is the latest
	p.Add(count(300, 12))
	if a, b, c := p.Match(count(0, 20)), p.Match(count(100, 20)), p.Match(count(300, 20)); a != 8 || b != 0 || c != 12 {
		t.Errorf("after more there are %d, %d and %d tokens", a, b, c)
	}
	p.Add(count(400, 400))
	if a, b := p.Match(count(400, 400)), p.Match(count(0, 20)); a != 24 || b != 0 {
		t.Errorf("of a sequence that is longer than the pool there are %d tokens; %d are left of another", a, b)
	}
	if none := NewPrefixes(0, 0); none.Match(count(0, 9)) != 0 {
		t.Error("a pool without blocks has something")
	}
}

func BenchmarkPrefixes(b *testing.B) {
	p := NewPrefixes(16, 4096)
	prompt := count(0, 2048)
	for b.Loop() {
		p.Add(prompt)
		p.Match(prompt)
	}
}
