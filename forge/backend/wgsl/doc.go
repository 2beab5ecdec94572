// Package wgsl prints graphs as compute shaders in WGSL, with a plan that runs them on any
// device of WebGPU.
//
// Each node is lowered by package loop, as for every backend, and each kernel becomes a
// module of its own; equal kernels are one module. What is around them is a [Plan]: plain
// data, with a JSON form, that says which entry point is dispatched in how many workgroups
// over which parts of which buffers, in order, and why so. A [Device] runs it. The host
// hands over the content of inputs and constants and gets that of results ([Memory]), so that a
// plan runs alike in [Simulator], in Dawn and in the page of a reader.
//
//	def mlp(x: f32[64,256], w: f32[256,512], b: f32[512]):
//	    return softmax(gelu(x @ w + b), axis=-1)
//
//	node          module     workgroups  of     shared bytes  bindings
//	%h = linear   linear_0   8           8×8    8192          slot0_f32* x w b
//	%4 = softmax  softmax_1  64          64     256           4* slot0_f32
//
// # Geometry
//
// A nest whose elements do not depend on one another has an invocation for each; else an
// outer point has an invocation, where its line is short, comes in order, or has neighbours
// of other lines beside it in memory, or a workgroup, whose invocations share the line and
// fold it by a tree in workgroup memory; few long lines are folded in two passes. A product of matrices has tiles of 64 x 64 with 8 x 8
// results of each invocation, and blocks of both matrices in workgroup memory; a small
// one has smaller tiles that read the matrices where they are. Rows are read in
// vectors of four where they can be. A convolution has an invocation for a pixel of four
// channels, and attention a workgroup for a query, with an online softmax.
//
// # Memory
//
// Values stand where package plan puts them, in a buffer for each slot and form of elements.
// What has the same buffer in a kernel has one binding. f32 and i32 stand as they are, i64
// as two words, bool as a word. f16 and bf16 stand as they are in inputs and constants, two
// in a word, and elsewhere as f32 of their value, to which stores round; on a device with
// shader-f16 f16 stands as itself everywhere. There is no f64 in WGSL: a
// graph that has it is refused, by name and reason ([Unsupported]), but for the angles of
// rotary positions, which are made of constants and positions and take two f32 each.
//
// # Limits
//
// A plan stays within the limits of its [Target], those that every device has unless others
// are asked for. Workgroups have two dimensions where there are more than
// maxComputeWorkgroupsPerDimension. A kernel that touches more of a buffer than
// maxStorageBufferBindingSize is cut in halves, each of which sees a part. Operands above
// maxStorageBuffersPerShaderStage are copied into one buffer before. A value above
// maxBufferSize, and a query of attention above maxComputeWorkgroupStorageSize, are refused
// with the limit named. [Plan.Uses] tells what a plan takes of each.
//
// # Errors of a run
//
// A kernel that finds an index out of range, a divisor 0 or a condition that does not hold
// touches nothing out of bounds, and sets the word of faults, which the host reads at the end.
// The interpreter then tells the error, which so reads the same on every backend.
//
// # Numbers
//
// Elementary functions are those of package mathf, step by step, and simulation, in which
// every operation is rounded by itself, is within the bounds of package bound. WGSL promises
// less: division and square roots may err by some units, fma may round twice, a number
// below 2^-126 may be taken for 0, nothing need be NaN, and a compiler may regroup sums and
// products where it takes the result for as good. So NaN is told by its bits, the exact rest of
// a product, quotient or root is had from integers, and what is left of a sum from sums that
// the compiler does not see through; reductions of arguments have parts so short that their
// products are exact. [Simulator.Reals] is such a compiler. On Dawn with SwiftShader all results
// are within the same bounds, with operands below 2^-126 as 0 and 2^-112 for what is
// lost below that (bound.CheckFlushed). On an NVIDIA H200, by Dawn for Node 0.6.2 with driver
// 580.159, all operators in f32, f16, i32 and bool were, but div, rsqrt, pow and rope, which the
// compiler's algebra made inexact; they are of integers since, which was not run there again.
package wgsl
