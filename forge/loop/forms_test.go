package loop_test

import "testing"

// forms are programs with the kernels of their last node.
var forms = []struct{ src, want string }{
	{"(%x: f16[4,6], %n: i64[6]) {\n %y: f16[4,6] = fused %x, %n (%u: f16[], %v: i64[]) {\n %e: f16[] = exp %u\n %c: f16[] = cast %v {dtype = \"f16\"}\n %r: f16[] = mul %e, %c\n return %r\n }\n return %y\n}", `kernel fused(%y: out f16, %x: f16, %n: i64)
nest [4] x [6]
  each mul(round_f16(exp(load %x[6,1])), round_f16(odd(load %n[0,1]))) -> %y[6,1]
`},
	{"(%x: f64[9]) {\n %y: i32[9] = cast %x {dtype = \"i32\"}\n return %y\n}", `kernel cast(%y: out i32, %x: f64)
nest [] x [9]
  each cast_i32(load %x[1]) -> %y[1]
`},
	{"(%t: bf16[2,3]) {\n %y: bf16[6] = reshape %t {shape = [6]}\n return %y\n}", `kernel reshape(%y: out bf16, %t: bf16)
nest [2] x [3]
  each bits %t[1,2] -> %y[3,1]
`},
	{"(%x: bool[3,5], %a: i64[3,5], %b: i64[5]) {\n %y: i64[3,5] = where %x, %a, %b\n return %y\n}", `kernel where(%y: out i64, %x: bool, %a: i64, %b: i64)
nest [3] x [5]
  each where(load %x[5,1], load %a[5,1], load %b[0,1]) -> %y[5,1]
`},
	{"(%x: f32[4,10]) {\n %y: f32[4,10] = log_softmax %x\n return %y\n}", `kernel log_softmax(%y: out f32, %x: f32)
nest [4] x [10]
  s0 = max of load %x[10,1]
  s1 = sum of exp(sub(load %x[10,1], s0))
  s2 = log(s1)
  each sub(sub(load %x[10,1], s0), s2) -> %y[10,1]
`},
	{"(%x: f16[4,10]) {\n %y: f16[4,10] = softmax %x\n return %y\n}", `kernel softmax(%y: out f16, %x: f16)
nest [4] x [10]
  s0 = max of load %x[10,1]
  s1 = sum of exp(sub(load %x[10,1], s0))
  each div(exp(sub(load %x[10,1], s0)), s1) -> %y[10,1]
`},
	{"(%x: i32[4,10]) {\n %y: i32[10] = sum %x {axes = [0]}\n return %y\n}", `kernel sum(%y: out i32, %x: i32)
nest [10] x [4]
  s0 = sum of load %x[1,10]
  once s0 -> %y[1,0]
`},
	{"(%x: f32[4,10,3]) {\n %y: i64[4,3] = argmax %x {axis = 1}\n return %y\n}", `kernel argmax(%y: out i64, %x: f32)
nest [4,3] x [10]
  s0 = max of load %x[30,1,3]
  s1 = min of where(or(eq(load %x[30,1,3], s0), ne(load %x[30,1,3], load %x[30,1,3])), i2, 2147483647)
  once cast_i64(s1) -> %y[3,1,0]
`},
	{"(%x: f32[100,8], %i: i64[7]) {\n %y: f32[7,8] = gather %x, %i\n return %y\n}", `kernel gather(%y: out f32, %x: f32, %i: i64)
nest [7] x [8]
  each load %x[0,1] at 8 * (load %i[1,0]) below 100 -> %y[8,1]
`},
	{"(%x: f16[3,50], %i: i32[2,4]) {\n %y: f16[3,2,4] = gather %x, %i {axis = 1}\n return %y\n}", `kernel gather(%y: out f16, %x: f16, %i: i32)
nest [3] x [8]
  each bits %x[50,0] at 1 * (cast_i64(load %i[0,1])) below 50 -> %y[8,1]
`},
	{"(%a: f32[2,3], %b: f32[2,5]) {\n %y: f32[2,8] = concat %a, %b {axis = 1}\n return %y\n}", `kernel concat(%y: out f32, %a: f32)
nest [2] x [3]
  each load %a[3,1] -> %y[8,1]
kernel concat(%y: out f32, %b: f32)
nest [2] x [5]
  each load %b[5,1] -> %y[8,1] +3
`},
	{"(%x: bf16[2,6]) {\n %y: bf16[3,10] = pad %x {low = [0, 2], high = [1, 2], value = 1.5}\n return %y\n}", `kernel pad(%y: out bf16, %x: bf16)
nest [3] x [10]
  each bits %x[6,1] -2 where i0 below 2 and i1-2 below 6 else 1.5 -> %y[10,1]
`},
	{"(%x: f32[1,2,8,8]) {\n %y: f32[1,2,4,4] = max_pool2d %x {kernel = [3, 3], stride = [2, 2], padding = [1, 1]}\n return %y\n}", `kernel max_pool2d(%y: out f32, %x: f32)
nest [2,4,4] x [3,3]
  s0 = max of load %x[64,16,2,8,1] -9 where 2*i1+i3-1 below 8 and 2*i2+i4-1 below 8 else -Inf
  once s0 -> %y[16,4,1,0,0]
`},
	{"(%x: f32[1,2,8,9]) {\n %y: f32[1,2,4,5] = avg_pool2d %x {kernel = [2, 2], padding = [0, 0, 0, 1], count_include_pad = false}\n return %y\n}", `kernel avg_pool2d(%y: out f32, %x: f32)
nest [5,8] x [2,2]
  s0 = sum of load %x[2,18,9,1] where 2*i0+i3 below 9 else 0
  s1 = sum of cast_f32(inside(2*i0+i3, 9))
  once div(s0, s1) -> %y[1,5,0,0]
`},
	{"(%x: f32[2,3,5,10], %p: i64[2]) {\n %y: f32[2,3,5,10] = rope %x, %p {dims = 8}\n return %y\n}", `kernel rope($freqs: f64, %p: i64, $cos: out f32, $sin: out f32)
nest [2,5] x [4]
  require and(ge(load %p[1,0,0], 0), le(load %p[1,0,0], 2147483642))
  each cast_f32(cos(mul(cast_f64(add(load %p[1,0,0], i1)), load $freqs[0,0,1]))) -> $cos[20,4,1]
  each cast_f32(sin(mul(cast_f64(add(load %p[1,0,0], i1)), load $freqs[0,0,1]))) -> $sin[20,4,1]
kernel rope(%y: out f32, %x: f32, $cos: f32, $sin: f32)
nest [2,3,5] x [4]
  each sub(mul(load %x[150,50,10,1], load $cos[20,0,4,1]), mul(load %x[150,50,10,1] +4, load $sin[20,0,4,1])) -> %y[150,50,10,1]
  each add(mul(load %x[150,50,10,1] +4, load $cos[20,0,4,1]), mul(load %x[150,50,10,1], load $sin[20,0,4,1])) -> %y[150,50,10,1] +4
kernel rope(%y: out f32, %x: f32)
nest [30] x [2]
  each load %x[10,1] +8 -> %y[10,1] +8
`},
	{"(%c: f16[2,4,16,8], %n: f16[2,4,3,8], %p: i64[], %l: i32[2]) {\n %y: f16[2,4,16,8] = kv_append %c, %n, %p, %l\n return %y\n}", `kernel kv_append(%y: out f16, %p: i64, %l: i32, %n: f16)
nest [2,4,3] x [8]
  require and(ge(load %p[0,0,0,0], 0), le(load %p[0,0,0,0], 16))
  require and(ge(cast_i64(load %l[1,0,0,0]), 0), le(cast_i64(load %l[1,0,0,0]), 16))
  when lt(add(load %p[0,0,0,0], i2), cast_i64(load %l[1,0,0,0])) each bits %n[96,24,8,1] -> %y[512,128,0,1] at 8 * (add(load %p[0,0,0,0], i2)) below 16
`},
	{"(%c: f32[9,4,16,8], %n: f32[2,4,3,8], %t: i64[2,5], %p: i64[2]) {\n %y: f32[9,4,16,8] = paged_kv_append %c, %n, %t, %p\n return %y\n}", `kernel paged_kv_append(%p: i64, %t: i64)
nest [2] x [5]
  require and(ge(load %p[1,0], 0), le(load %p[1,0], 80))
  require le(add(load %p[1,0], 3), 80)
  require each or(ge(16*i1, add(load %p[1,0], 3)), and(ge(load %t[1,2], 0), le(load %t[1,2], 8)))
kernel paged_kv_append(%p: i64, %t: i64, $owners: out i64)
nest [2,3] x [1]
  require and(ge(load %p[1,0,0], 0), le(load %p[1,0,0], 80))
  each 3*i0+i1 -> $owners[0,0,0] at 16 * (load %t[1,0,0] at 2 * (div(add(load %p[1,0,0], i1), 16)) below 5) below 9 at 1 * (sub(add(load %p[1,0,0], i1), mul(div(add(load %p[1,0,0], i1), 16), 16))) below 16
kernel paged_kv_append(%p: i64, %t: i64, $owners: i64)
nest [2,3] x [1]
  require and(ge(load %p[1,0,0], 0), le(load %p[1,0,0], 80))
  require each eq(load $owners[0,0,0] at 16 * (load %t[1,0,0] at 2 * (div(add(load %p[1,0,0], i1), 16)) below 5) below 9 at 1 * (sub(add(load %p[1,0,0], i1), mul(div(add(load %p[1,0,0], i1), 16), 16))) below 16, 3*i0+i1)
kernel paged_kv_append(%y: out f32, %p: i64, %t: i64, %n: f32)
nest [2,4,3] x [8]
  require and(ge(load %p[1,0,0,0], 0), le(load %p[1,0,0,0], 80))
  each load %n[96,24,8,1] -> %y[0,128,0,1] at 512 * (load %t[1,0,0,0] at 2 * (div(add(load %p[1,0,0,0], i2), 16)) below 5) below 9 at 8 * (sub(add(load %p[1,0,0,0], i2), mul(div(add(load %p[1,0,0,0], i2), 16), 16))) below 16
`},
}

func TestForms(t *testing.T) {
	for _, c := range forms {
		got, err := lower(t, "graph f"+c.src)
		if err != nil {
			t.Errorf("%v in\n%s", err, c.src)
			continue
		}
		if got != c.want {
			t.Errorf("got\n%swant\n%s", got, c.want)
		}
	}
}
