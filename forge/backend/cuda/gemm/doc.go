// Package gemm writes CUDA C for matrix products on NVIDIA GPUs.
//
// A [Shape] says what is to be multiplied: sizes, where elements are, and what becomes of
// a sum. [Candidates] gives kernels for it, each a text with the way to launch it, the one
// that a model of time expects to be the quickest first. All sums are in f32 and in an
// order that does not change from run to run.
//
// There are five kinds of kernels. Their texts are templates in the folder source, and a
// kernel is an instance of one with a description of the product:
//
//   - simt: products in f32 by ordinary instructions, never in TF32. Blocks of both
//     matrices go through shared memory, and a thread has a rectangle of results.
//   - mma: half precision by the tensor cores, whose operands threads fetch from shared
//     memory (from sm_75; bf16 from sm_80).
//   - wgmma: half precision by the tensor cores of sm_90a, which read shared memory by
//     themselves. A warp of a block asks the copy engine to fill it with boxes of both
//     matrices. Blocks stay, and warpgroups take one tile after another, in turns where
//     one can store results while another multiplies.
//   - rows: few rows, such as the tokens of a decoder's step. The matrix streams past them
//     once, and what counts is how many of its bytes are on their way. Tensor cores
//     multiply several rows at once, those of f32 as exact sums of three terms of bf16.
//   - direct: small products. Operands come straight to registers, and the warps of a block
//     divide the sums, so that one trip to memory is nearly all that there is.
//
// Where tiles are too few for the device, sums are cut into slices, which the blocks of a
// cluster, another kernel, or in rows the last block to arrive, add up in order. Matrices
// may lie along k or across it; those that cannot be read in whole units of 16 bytes,
// because of their sizes or places, are read element by element, as is an image under the
// moving window of a convolution. No size needs to be a multiple of anything.
//
// The text needs a prelude with the names i64, u16, INLINE, INLINE_MEMBER, READY, AWAIT and
// ENTER, which package cuda has.
package gemm
