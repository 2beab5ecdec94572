package model

import (
	"fmt"
	"testing"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/shard"
)

// small are configurations of every family with sizes that no degree divides.
func small() []Config {
	base := Config{Vocab: 37, Hidden: 24, Layers: 3, Heads: 6, KVHeads: 2, HeadDim: 4, FF: 22, Context: 32, Eps: 1e-5}
	tiny, gpt2, llama, qwen := base, base, base, base
	tiny.Family = "tiny"
	gpt2.Family, gpt2.Tied, gpt2.KVHeads = "gpt2", true, 6
	llama.Family, llama.Rope = "llama", &Rope{Base: 10000}
	qwen.Family, qwen.KVHeads, qwen.QKVBias, qwen.OutBias, qwen.Tied = "llama", 3, true, true, true
	qwen.Rope = &Rope{Base: 1e6, Scaling: YaRN, Factor: 4, Original: 8, BetaFast: 32, BetaSlow: 1, Attention: YaRNAttention(4)}
	return []Config{tiny, gpt2, llama, qwen}
}

func describe(c Config) string { return fmt.Sprintf("%s_%dkv", c.Family, c.KVHeads) }

func seed(t testing.TB, c Config) *Model {
	t.Helper()
	m, err := Seeded(c, 7)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sequence is a row of tokens.
func sequence(seed, n, vocab int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32((seed*31 + i*i*7 + i*3) % vocab)
	}
	return s
}

// lastOf are the logits [V] of token i of row b.
func lastOf(t *tensor.Tensor, b, i int) *tensor.Tensor {
	v := t.Dim(-1)
	return must(t.Window((b*t.Dim(1)+i)*v, v))
}

func wantClose(t *testing.T, what string, got, want *tensor.Tensor, bound float64) {
	t.Helper()
	d, err := tensor.Compare(got, want)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if d.Mismatch > 0 || !(d.MaxAbs <= bound) {
		t.Errorf("%s: differs by %.3g, %d mismatches; %.3g is allowed", what, d.MaxAbs, d.Mismatch, bound)
	}
}

// f32Bound is for logits of the small configurations, which are of the size of 1.
const f32Bound = 2e-5

// TestLayouts runs every legal layout of every family: prefill in two chunks of
// rows of different lengths, then a decode step in which one row is idle, against
// the whole sequences in float64.
func TestLayouts(t *testing.T) {
	for _, c := range small() {
		t.Run(describe(c), func(t *testing.T) {
			m := seed(t, c)
			a, b := sequence(1, 9, c.Vocab), sequence(2, 6, c.Vocab)
			want := wide(t, m, tensor.F32, a, b)
			for tp := 1; tp <= 6; tp++ {
				for pp := 1; pp <= 3; pp++ {
					l := shard.Layout{TP: tp, PP: pp}
					if l.Check(c.Dims()) != nil {
						continue
					}
					cache := Cache(paged(2))
					if pp == 3 {
						cache = contiguous()
					}
					d := newDecoder(t, m, l, tensor.F32, 2, cache)
					d.passes = pp == 2
					d.step(None, []int{0, 0}, a[:5], b[:2])
					got := d.step(Last, []int{5, 2}, a[5:8], b[2:6])
					wantClose(t, fmt.Sprintf("%v, chunk, row 0", l), lastOf(got.Reshape(2, 1, -1), 0, 0), lastOf(want, 0, 7), f32Bound)
					wantClose(t, fmt.Sprintf("%v, chunk, row 1", l), lastOf(got.Reshape(2, 1, -1), 1, 0), lastOf(want, 1, 5), f32Bound)
					got = d.step(Last, []int{8, 6}, a[8:], nil)
					wantClose(t, fmt.Sprintf("%v, decode", l), lastOf(got.Reshape(2, 1, -1), 0, 0), lastOf(want, 0, 8), f32Bound)
				}
			}
		})
	}
}

// TestChunks compares whole prefill, chunks and single tokens, over blocks and
// over one piece.
func TestChunks(t *testing.T) {
	for _, c := range small() {
		t.Run(describe(c), func(t *testing.T) {
			m, s := seed(t, c), sequence(3, 11, c.Vocab)
			want := wide(t, m, tensor.F32, s)
			for _, cache := range []Cache{paged(1), contiguous()} {
				for _, chunk := range []int{1, 3, 4, 11} {
					d := newDecoder(t, m, shard.Layout{TP: 1, PP: 1}, tensor.F32, 1, cache)
					for at := 0; at < len(s); at += chunk {
						end := min(at+chunk, len(s))
						got := d.step(All, []int{at}, s[at:end])
						for i := range end - at {
							wantClose(t, fmt.Sprintf("%T, chunks of %d, token %d", cache, chunk, at+i), lastOf(got, 0, i), lastOf(want, 0, at+i), f32Bound)
						}
					}
				}
			}
		})
	}
}

// TestPagedEqualsContiguous compares bits: the same arithmetic over other places.
func TestPagedEqualsContiguous(t *testing.T) {
	for _, c := range small() {
		m, s := seed(t, c), sequence(4, 7, c.Vocab)
		for _, dtype := range []tensor.DType{tensor.F32, tensor.BF16} {
			one := shard.Layout{TP: 1, PP: 1}
			p, q := newDecoder(t, m, one, dtype, 1, paged(1)), newDecoder(t, m, one, dtype, 1, contiguous())
			for _, part := range [][2]int{{0, 6}, {6, 7}} {
				got, want := p.step(Last, []int{part[0]}, s[part[0]:part[1]]), q.step(Last, []int{part[0]}, s[part[0]:part[1]])
				if !tensor.Identical(got, want) {
					t.Errorf("%s, %v: blocks and one piece give different logits", describe(c), dtype)
				}
			}
		}
	}
}

// TestBF16 bounds the error of half precision by the size of the logits. The
// bound is that of some ten roundings to 8 bits in a row. The wider model has
// weights that the compiler does not widen when it compiles.
func TestBF16(t *testing.T) {
	configs := small()
	wider := configs[3]
	wider.Hidden, wider.Heads, wider.HeadDim, wider.FF, wider.Vocab = 192, 6, 32, 256, 300
	for _, c := range append(configs, wider) {
		m, s := seed(t, c), sequence(5, 9, c.Vocab)
		want := wide(t, m, tensor.F32, s)
		for _, l := range []shard.Layout{{TP: 1, PP: 1}, {TP: 2, PP: 2}} {
			if l.Check(c.Dims()) != nil {
				t.Fatalf("%s cannot be divided by %v", describe(c), l)
			}
			d := newDecoder(t, m, l, tensor.BF16, 1, paged(1))
			d.passes = true
			d.step(None, []int{0}, s[:8])
			got := d.step(Last, []int{8}, s[8:])
			size := 0.0
			for _, v := range want.Values() {
				size = max(size, v, -v)
			}
			wantClose(t, fmt.Sprintf("%s, hidden %d, %v", describe(c), c.Hidden, l), got.Reshape(-1), lastOf(want, 0, 8), 0.04*size)
		}
	}
}
