package loop_test

import "testing"

// TestLowerAttention has masks, heads that share keys, and caches, which are checked
// before they are read.
func TestLowerAttention(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"graph f(%q: bf16[2,4,6,8], %k: bf16[2,2,9,8], %v: bf16[2,2,9,3], %m: bool[2,1,1,9]) {\n %y: bf16[2,4,6,3] = sdpa %q, %k, %v, %m\n return %y\n}", `kernel sdpa(%y: out bf16, %q: bf16, %k: bf16, %v: bf16, %m: bool)
attend [2,4/2] x [6,9] of 8 and 3 channels
  softmax(0.35355338 * %q[192,48,8,1] * %k[144,72,8,1] where %m[9,0,0,1]) * %v[54,27,3,1] -> %y[72,18,3,1]
`},
		{"graph f(%q: f32[1,4,6,4], %k: f32[1,2,9,4], %v: f32[1,2,9,3], %m: f32[4,1,9]) {\n %y: f32[1,4,6,3] = sdpa %q, %k, %v, %m {strict = true}\n return %y\n}", `kernel sdpa(%y: out f32, %q: f32, %k: f32, %v: f32, %m: f32)
attend [1,4/2] x [6,9] of 4 and 3 channels, strict
  softmax(0.5 * %q[96,24,4,1] * %k[72,36,4,1] + %m[0,9,0,1]) * %v[54,27,3,1] -> %y[72,18,3,1]
`},
		{"graph f(%q: f32[2,4,3,4], %k: f32[2,2,9,4], %v: f32[2,2,9,4], %p: i64[2], %n: i32[]) {\n %y: f32[2,4,3,4] = cached_attention %q, %k, %v, %p, %n\n return %y\n}", `kernel cached_attention(%p: i64, %n: i32)
nest [2] x [1]
  require and(ge(load %p[1,0], 0), le(load %p[1,0], 9))
  require and(ge(cast_i64(load %n[0,0]), 0), le(cast_i64(load %n[0,0]), 9))
  when lt(load %p[1,0], cast_i64(load %n[0,0])) require le(minimum(add(load %p[1,0], 3), cast_i64(load %n[0,0])), 9)
kernel cached_attention(%y: out f32, %q: f32, %k: f32, %v: f32, %p: i64, %n: i32)
attend [2,4/2] x [3,9] of 4 and 4 channels, causal from %p[1] below %n[0]
  softmax(0.5 * %q[48,12,4,1] * %k[72,36,4,1]) * %v[72,36,4,1] -> %y[48,12,4,1]
`},
		{"graph f(%q: f32[2,4,3,4], %k: f32[7,2,16,4], %v: f32[7,2,16,4], %b: i32[2,5], %p: i64[]) {\n %y: f32[2,4,3,4] = paged_attention %q, %k, %v, %b, %p\n return %y\n}", `kernel paged_attention(%p: i64, %b: i32)
nest [2] x [5]
  require and(ge(load %p[0,0], 0), le(load %p[0,0], 80))
  require le(add(load %p[0,0], 3), 80)
  require each or(ge(16*i1, add(load %p[0,0], 3)), and(ge(cast_i64(load %b[5,1]), 0), le(cast_i64(load %b[5,1]), 6)))
kernel paged_attention(%y: out f32, %q: f32, %k: f32, %v: f32, %p: i64, %b: i32)
attend [2,4/2] x [3,80] of 4 and 4 channels, causal from %p[0] in 7 blocks of 16 by %b[5,1]
  softmax(0.5 * %q[48,12,4,1] * %k[128,64,4,1]) * %v[128,64,4,1] -> %y[48,12,4,1]
`},
	} {
		if got, err := lower(t, c.src); err != nil || got != c.want {
			t.Errorf("got %v\n%swant\n%s", err, got, c.want)
		}
	}
}
