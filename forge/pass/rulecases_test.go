package pass

import (
	"strings"
)

// ruleCases has at least one program for every rule of the table.
var ruleCases = []ruleCase{
	{rule: "narrow-weight", program: `graph f(%x: f32[M,260]) {
  %w: bf16[90,260] = const {value = bf16[90,260] @0}
  %0: f32[90,260] = cast %w {dtype = "f32"}
  %1: f32[260,90] = transpose %0
  %2: f32[M,90] = matmul %x, %1 {act = "gelu"}
  %h: f32[M,90] = relu %2
  %3: f32[M,90] = linear %x, %1
  return %h, %3
}
data @0 = "` + patterned(90*260) + `"
`},
	{rule: "fold", program: `graph f() {
  %0: f32[2] = const {value = f32[2] -0.0 3.0}
  %1: f32[2] = exp %0
  return %1
}`},
	{rule: "share", program: `graph f(%x: f32[M,N]) {
  %0: f32[M,N] = tanh %x
  %1: f32[M,N] = tanh %x
  %2: f32[M,N] = sub %0, %1
  return %2
}`},
	{rule: "remove", program: `graph f(%x: f32[M,N]) {
  %0: f32[M,N] = tanh %x
  %1: f32[M,N] = exp %x
  return %1
}`},
	{rule: "fuse", program: `graph f(%x: f32[M,N], %y: f32[N]) {
  %0: f32[M,N] = mul %x, %y
  %1: f32[M,N] = add %0, %x
  %2: f32[M,N] = gelu %1
  return %2
}`},
	{rule: "multiply-by-one", program: `graph f(%x: f32[M,N]) {
  %1: f32[] = const {value = f32[] 1.0}
  %2: f32[M,N] = mul %1, %x
  %3: f32[M,N] = div %2, %1
  return %3
}`},
	{rule: "add-zero", program: `graph f(%x: f32[M,N]) {
  %z: f32[] = const {value = f32[] 0.0}
  %n: f32[] = const {value = f32[] -0.0}
  %0: f32[M,N] = sub %x, %z
  %1: f32[M,N] = add %n, %0
  %2: f32[M,N] = abs %1
  %3: f32[M,N] = add %2, %z
  %4: f32[M,N] = mul %x, %x
  %5: f32[M,N] = add %4, %z
  return %1, %3, %5
}`},
	{rule: "negate", program: `graph f(%x: f32[M,N]) {
  %m: f32[] = const {value = f32[] -1.0}
  %n: f32[] = const {value = f32[] -0.0}
  %0: f32[M,N] = mul %x, %m
  %1: f32[M,N] = sub %n, %x
  return %0, %1
}`},
	{rule: "double-negation", program: `graph f(%x: f32[M,N]) {
  %0: f32[M,N] = neg %x
  %1: f32[M,N] = neg %0
  return %1
}`},
	{rule: "negated-operand", program: `graph f(%x: f32[M,N], %y: f32[N]) {
  %0: f32[N] = neg %y
  %1: f32[M,N] = add %x, %0
  %2: f32[M,N] = add %0, %x
  %3: f32[M,N] = sub %x, %0
  return %1, %2, %3
}`},
	{rule: "reciprocal", program: `graph f(%x: f32[M,N], %y: f64[N], %h: f16[N], %b: bf16[N]) {
  %c: f32[] = const {value = f32[] 8.0}
  %d: f32[] = const {value = f32[] -0.0078125}
  %e: f32[] = const {value = f32[] 8.507059e+37}
  %0: f32[M,N] = div %x, %c
  %1: f32[M,N] = div %x, %d
  %2: f32[M,N] = div %x, %e
  %w: f64[] = const {value = f64[] 1.1125369292536007e-308}
  %3: f64[N] = div %y, %w
  %s: f16[] = const {value = f16[] 6.1035e-05}
  %4: f16[N] = div %h, %s
  %t: bf16[1] = const {value = bf16[1] -0.25}
  %5: bf16[N] = div %b, %t
  return %0, %1, %2, %3, %4, %5
}`},
	{rule: "reciprocal-root", program: `graph f(%x: f32[M,N], %z: f64[N]) {
  %1: f32[] = const {value = f32[] 1.0}
  %r: f32[M,N] = sqrt %x
  %0: f32[M,N] = div %1, %r
  %d: f64[1] = const {value = f64[1] 1.0}
  %s: f64[N] = sqrt %z
  %2: f64[N] = div %d, %s
  return %0, %2
}`},
	{rule: "square", bound: squareBound, program: `graph f(%x: f32[M,N]) {
  %2: f32[] = const {value = f32[] 2.0}
  %0: f32[M,N] = pow %x, %2
  return %0
}`},
	{rule: "idempotent", program: `graph f(%x: f32[M,N]) {
  %0: f32[M,N] = relu %x
  %1: f32[M,N] = relu %0
  %2: f32[M,N] = neg %x
  %3: f32[M,N] = abs %2
  %4: f32[M,N] = abs %3
  return %1, %4
}`},
	{rule: "extreme-of-itself", program: `graph f(%x: f32[M,N]) {
  %0: f32[M,N] = maximum %x, %x
  %1: f32[M,N] = minimum %0, %0
  return %1
}`},
	{rule: "identity-move", program: `graph f(%x: f32[M,N]) {
  %0: f32[M,N] = reshape %x {shape = [M, N]}
  %1: f32[M,N] = transpose %0 {perm = [0, 1]}
  return %1
}`},
	{rule: "reshape-of-reshape", program: `graph f(%x: f32[M,2,N]) {
  %0: f32[2,M,N] = reshape %x {shape = [2, M, N]}
  %1: f32[2,N,M] = reshape %0 {shape = [2, N, M]}
  return %1
}`},
	{rule: "transpose-of-transpose", program: `graph f(%x: f32[M,N,K]) {
  %0: f32[N,K,M] = transpose %x {perm = [1, 2, 0]}
  %1: f32[M,N,K] = transpose %0 {perm = [2, 0, 1]}
  %2: f32[K,N,M] = transpose %0 {perm = [1, 0, 2]}
  return %1, %2
}`},
	{rule: "transpose-to-reshape", program: `graph f(%x: f32[M,1,N]) {
  %0: f32[1,M,N] = transpose %x {perm = [1, 0, 2]}
  return %0
}`},
	{rule: "identity-move", program: `graph f(%x: f32[M,N], %h: f16[N]) {
  %0: f32[M,N] = expand %x {shape = [M, N]}
  %1: f32[M,N] = narrow %0 {axis = 1, length = N, start = 0}
  %2: f32[M,N] = pad %1 {high = [0, 0], low = [0, 0]}
  %3: f32[M,N] = concat %2 {axis = 0}
  %4: f32[M,N] = cast %3 {dtype = "f32"}
  %5: f16[N] = cast %h {dtype = "f16"}
  return %4, %5
}`},
	{rule: "narrow-of-narrow", program: `graph f(%x: f32[M,9]) {
  %0: f32[M,4] = narrow %x {axis = 1, length = 4, start = 7, step = -2}
  %1: f32[M,2] = narrow %0 {axis = 1, length = 2, start = 1, step = 2}
  %2: f32[M,3] = narrow %0 {axis = 1, length = 3, start = -1, step = -1}
  %3: f32[M,0] = narrow %0 {axis = 1, length = 0, start = 4}
  return %1, %2, %3
}`},
	{rule: "expand-of-expand", program: `graph f(%x: f32[N]) {
  %0: f32[M,N] = expand %x {shape = [M, N]}
  %1: f32[2,M,N] = expand %0 {shape = [2, M, N]}
  return %1
}`},
	{rule: "implicit-expand", program: `graph f(%x: f32[N], %y: f32[M,N], %c: bool[M,1]) {
  %0: f32[M,N] = expand %x {shape = [M, N]}
  %1: f32[M,N] = sub %y, %0
  %2: bool[M,N] = expand %c {shape = [M, N]}
  %3: f32[M,N] = where %2, %0, %y
  return %1, %3
}`},
	{rule: "cast-of-cast", program: `graph f(%h: f16[M,N], %x: f32[M,N], %i: i32[M,N], %b: bool[N]) {
  %0: f32[M,N] = cast %h {dtype = "f32"}
  %1: f16[M,N] = cast %0 {dtype = "f16"}
  %2: f64[M,N] = cast %0 {dtype = "f64"}
  %3: bf16[M,N] = cast %2 {dtype = "bf16"}
  %4: f64[M,N] = cast %x {dtype = "f64"}
  %5: f32[M,N] = cast %4 {dtype = "f32"}
  %6: i32[M,N] = cast %4 {dtype = "i32"}
  %7: f64[M,N] = cast %i {dtype = "f64"}
  %8: f32[M,N] = cast %7 {dtype = "f32"}
  %9: i64[M,N] = cast %i {dtype = "i64"}
  %10: f32[M,N] = cast %9 {dtype = "f32"}
  %11: f32[N] = cast %b {dtype = "f32"}
  %12: bool[N] = cast %11 {dtype = "bool"}
  return %1, %3, %5, %6, %8, %10, %12
}`},
	{rule: "decided-where", program: `graph f(%x: f32[M,N], %y: f32[M,N], %c: bool[N]) {
  %t: bool[1] = const {value = bool[1] true}
  %f: bool[] = const {value = bool[] false}
  %0: f32[M,N] = where %t, %x, %y
  %1: f32[M,N] = where %f, %x, %y
  %2: f32[M,N] = where %c, %x, %x
  return %0, %1, %2
}`},
	{rule: "shared-projections", program: `graph f(%x: f32[M,2,2]) {
  %a: f32[2,3] = const {value = f32[2,3] 1.0 -2.0 0.5 3.0 -0.0 nan}
  %b: f32[2,1] = const {value = f32[2,1] 0.25 -1.5}
  %c: f32[2,2] = const {value = f32[2,2] 1.0 inf -2.0 0.0}
  %d: f32[2] = const {value = f32[2] -0.0 7.0}
  %0: f32[M,2,3] = matmul %x, %a
  %1: f32[M,2,1] = linear %x, %b
  %2: f32[M,2,2] = linear %x, %c, %d
  %3: f32[M,2,3] = neg %0
  %4: f32[M,2,1] = neg %1
  %5: f32[M,2,2] = neg %2
  return %3, %4, %5
}`},
	{rule: "attention", program: `graph f(%q: f32[2,4,3,3], %k: f32[2,1,3,3], %v: f32[2,1,3,2]) {
  %0: f32[2,1,3,3] = transpose %k {perm = [0, 1, 3, 2]}
  %1: f32[2,4,3,3] = matmul %q, %0
  %c: bool[3,3] = const {value = bool[3,3] true false false true true false true true true}
  %i: f32[] = const {value = f32[] -inf}
  %2: f32[2,4,3,3] = where %c, %1, %i
  %4: f32[2,4,3,3] = softmax %2
  %5: f32[2,4,3,2] = matmul %4, %v
  return %5
}`},
	{rule: "attention", program: `graph f(%q: f32[2,M,N,3], %k: f32[2,M,K,3], %v: f32[2,M,K,2], %m: bool[2,1,N,K]) {
  %0: f32[2,M,3,K] = transpose %k {perm = [0, 1, 3, 2]}
  %1: f32[2,M,N,K] = matmul %q, %0
  %s: f32[] = const {value = f32[] 4.0}
  %d: f32[2,M,N,K] = div %1, %s
  %i: f32[] = const {value = f32[] -inf}
  %2: f32[2,M,N,K] = where %m, %d, %i
  %4: f32[2,M,N,K] = softmax %2
  %5: f32[2,M,N,2] = matmul %4, %v
  return %5
}`},
	{rule: "attention", program: `graph f(%q: f32[2,6,M,3], %k: f32[2,2,K,3], %v: f32[2,2,1,K,2]) {
  %k5: f32[2,2,1,K,3] = reshape %k {shape = [2, 2, 1, K, 3]}
  %kr: f32[2,2,3,K,3] = expand %k5 {shape = [2, 2, 3, K, 3]}
  %k6: f32[2,6,K,3] = reshape %kr {shape = [2, 6, K, 3]}
  %vr: f32[2,2,3,K,2] = expand %v {shape = [2, 2, 3, K, 2]}
  %v6: f32[2,6,K,2] = reshape %vr {shape = [2, 6, K, 2]}
  %0: f32[2,6,3,K] = transpose %k6 {perm = [0, 1, 3, 2]}
  %1: f32[2,6,M,K] = matmul %q, %0
  %4: f32[2,6,M,K] = softmax %1
  %5: f32[2,6,M,2] = matmul %4, %v6
  return %5
}`},
	{rule: "attention", program: `graph f(%q: f32[M,N,3], %k: f32[M,K,3], %v: f32[M,K,2], %m: f32[M,1,K]) {
  %0: f32[M,3,K] = transpose %k {perm = [0, 2, 1]}
  %1: f32[M,N,K] = matmul %q, %0
  %2: f32[M,N,K] = add %1, %m
  %4: f32[M,N,K] = softmax %2
  %5: f32[M,N,2] = matmul %4, %v
  return %5
}`},
	{rule: "attention", program: `graph f(%q: f32[N,3], %k: f32[K,3], %v: f32[K,2], %m: bool[K]) {
  %0: f32[3,K] = transpose %k
  %1: f32[N,K] = matmul %q, %0
  %c: f32[] = const {value = f32[] 0.57735026}
  %2: f32[N,K] = mul %1, %c
  %i: f32[] = const {value = f32[] -inf}
  %3: f32[N,K] = where %m, %2, %i
  %4: f32[N,K] = softmax %3
  %5: f32[N,2] = matmul %4, %v
  return %5
}`},
	{rule: "stable-softmax", program: `graph f(%x: f32[M,2,N]) {
  %0: f32[M,1,N] = max %x {axes = [1], keepdims = true}
  %1: f32[M,2,N] = sub %x, %0
  %2: f32[M,2,N] = exp %1
  %3: f32[M,1,N] = sum %2 {axes = [1], keepdims = true}
  %4: f32[M,2,N] = div %2, %3
  return %4
}`},
	{rule: "attention", program: `graph f(%q: f32[2,M,N,3], %k: f32[2,M,K,3], %v: f32[2,M,K,2]) {
  %0: f32[2,M,3,K] = transpose %k {perm = [0, 1, 3, 2]}
  %1: f32[2,M,N,K] = matmul %q, %0
  %2: f32[] = const {value = f32[] 0.577}
  %3: f32[2,M,N,K] = mul %1, %2
  %4: f32[2,M,N,K] = softmax %3
  %5: f32[2,M,N,2] = matmul %4, %v
  return %5
}`},
	{rule: "attention", program: `graph f(%q: f32[2,M,N,3], %k: f32[2,K,M,3], %v: f32[2,M,K,2], %m: f32[N,K]) {
  %0: f32[2,M,3,K] = transpose %k {perm = [0, 2, 3, 1]}
  %1: f32[2,M,N,K] = matmul %q, %0
  %3: f32[2,M,N,K] = add %m, %1
  %4: f32[2,M,N,K] = softmax %3
  %5: f32[2,M,N,2] = matmul %4, %v
  return %5
}`},
	{rule: "rows-of-product", program: `graph f(%x: f32[M,1,2,K], %w: f32[K,N], %b: f32[N]) {
  %0: f32[2,M,K] = reshape %x {shape = [2, M, K]}
  %1: f32[2,M,N] = linear %0, %w, %b
  %2: f32[M,1,2,N] = reshape %1 {shape = [M, 1, 2, N]}
  %3: f32[2,M,N] = matmul %0, %w {act = "gelu"}
  %4: f32[M,2,N] = reshape %3 {shape = [M, 2, N]}
  return %2, %4
}`},
	{rule: "batches-of-product", program: `graph f(%x: f32[M,2,3,K], %y: f32[M,2,K,N]) {
  %0: f32[2,M,3,K] = reshape %x {shape = [2, M, 3, K]}
  %1: f32[2,M,K,N] = reshape %y {shape = [2, M, K, N]}
  %2: f32[2,M,3,N] = matmul %0, %1
  %3: f32[M,2,3,N] = reshape %2 {shape = [M, 2, 3, N]}
  return %3
}`},
	{rule: "gather-from-end", program: `graph f(%t: f32[4,M,N], %i: i64[K]) {
  %0: i64[] = const {value = i64[] 0}
  %3: i64[] = const {value = i64[] 4}
  %below: bool[K] = lt %i, %0
  %sum: i64[K] = add %3, %i
  %at: i64[K] = where %below, %sum, %i
  %1: f32[K,M,N] = gather %t, %at
  return %1
}`},
	{rule: "attention-of-small-numbers", bound: smallAttentionBound, program: guardedAttention("%x: f32[2,M,N,4], %y: f32[2,M,K,4]",
		"rms_norm %x, %w", "rms_norm %y, %w", "rms_norm %y, %w", "where %visible, %product, %low")},
	{rule: "attention-of-small-numbers", bound: smallAttentionBound, program: guardedAttention("%i: i64[2,M,N], %j: i64[2,M,K], %m: bool[M,N,K]",
		"gather %table, %i {from_end = true}", "gather %table, %j {from_end = true}", "gather %table, %j {from_end = true}", "where %m, %product, %low")},
	{rule: "attention-of-quotients", bound: attentionBound, program: `graph f(%q: f32[2,M,N,3], %k: f32[2,M,K,3], %v: f32[2,M,K,2]) {
  %0: f32[2,M,3,K] = transpose %k {perm = [0, 1, 3, 2]}
  %1: f32[2,M,N,K] = matmul %q, %0
  %2: f32[] = const {value = f32[] 1.7320508}
  %3: f32[2,M,N,K] = div %1, %2
  %4: f32[2,M,N,K] = softmax %3
  %5: f32[2,M,N,2] = matmul %4, %v
  return %5
}`},
	{rule: "matmul-bias", program: `graph f(%x: f32[2,M,K], %w: f32[K,N], %b: f32[N]) {
  %0: f32[2,M,N] = matmul %x, %w
  %1: f32[2,M,N] = add %b, %0
  return %1
}`},
	{rule: "linear-activation", program: `graph f(%x: f32[M,K], %w: f32[K,N], %b: f32[N]) {
  %0: f32[M,N] = linear %x, %w, %b
  %1: f32[M,N] = gelu %0 {approximate = "tanh"}
  %2: f32[M,N] = matmul %x, %w
  %3: f32[M,N] = relu %2
  return %1, %3
}`},
	{rule: "linear-residual", program: `graph f(%x: f32[M,K], %w: f32[K,N], %b: f32[N], %r: f32[M,N]) {
  %0: f32[M,N] = linear %x, %w, %b {act = "relu"}
  %1: f32[M,N] = add %r, %0
  %2: f32[M,N] = matmul %x, %w
  %3: f32[M,N] = add %2, %r
  return %1, %3
}`},
	{rule: "reorder", program: `graph f(%x: f32[M,N]) {
  %0: f32[M,N] = exp %x
  %1: f32[M,N] = tanh %x
  %2: f32[] = sum %0
  %3: f32[] = sum %1
  %4: f32[] = add %2, %3
  return %4
}`},
	{rule: "move-view", program: `graph f(%x: f32[M,N], %s: f32[]) {
  %0: f32[M,N] = exp %x
  %1: f32[M,N] = mul %s, %0
  %2: f32[N,M] = transpose %1
  %3: f32[N,M] = tanh %2
  %4: f32[N,M] = add %3, %s
  return %4
}`},
}

func init() {
	for _, c := range []struct{ rule, mean, root, tail string }{
		{"layer-norm", "mean", "1/sqrt", "weight and bias"},
		{"layer-norm", "sum/n", "1/sqrt", ""},
		{"layer-norm-rounded", "mean", "div", "weight and bias"},
		{"layer-norm-rounded", "sum/n", "div", "weight"},
		{"rms-norm", "mean", "1/sqrt", "weight"},
		{"rms-norm", "mean", "rsqrt", "weight and bias"},
		{"layer-norm", "sum/n", "rsqrt", "weight and bias"},
		{"rms-norm", "sum/n", "1/sqrt", "weight and bias"},
		{"layer-norm-rounded", "sum*(1/n)", "1/sqrt", "weight and bias"},
		{"rms-norm-rounded", "mean", "div", ""},
		{"rms-norm-rounded", "sum*(1/n)", "1/sqrt", "weight"},
	} {
		ruleCases = append(ruleCases, ruleCase{
			rule: c.rule, bound: normBound,
			program: normProgram(strings.HasPrefix(c.rule, "layer"), c.mean, c.root, c.tail),
		})
	}
}
