package pass

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// attentionBound allows for scores s that change by 1.5 ulp each: weights
// change by a factor of exp(6u|s|), and so the average of values by that much
// of the largest value.
func attentionBound(_ *ir.Graph, inputs []*tensor.Tensor) float64 {
	const u = 0x1p-24
	q, k, v := largest(inputs[0]), largest(inputs[1]), largest(inputs[2])
	score := 3 * q * k
	return (math.Expm1(6*u*score) + 8*u) * v
}

// largest is the largest finite magnitude of a tensor.
func largest(x *tensor.Tensor) float64 {
	most := 0.0
	for i := range x.Len() {
		if v := math.Abs(x.Elem(i)); v > most && !math.IsInf(v, 0) {
			most = v
		}
	}
	return most
}

// ruleCases has at least one program for every rule of the table.
var ruleCases = []ruleCase{
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
	{rule: "reciprocal", program: `graph f(%x: f32[M,N]) {
  %c: f32[] = const {value = f32[] 8.0}
  %d: f32[] = const {value = f32[] -0.0078125}
  %e: f32[] = const {value = f32[] 8.507059e+37}
  %0: f32[M,N] = div %x, %c
  %1: f32[M,N] = div %x, %d
  %2: f32[M,N] = div %x, %e
  return %0, %1, %2
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
