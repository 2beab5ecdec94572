// Package wgsl prints graphs as compute shaders in WGSL and a plan that runs them on any
// device of WebGPU.
//
// A [Plan] is plain data: modules, buffers and dispatches. A [Device] runs it; the
// host hands over the content of its inputs and constants, and gets that of its
// outputs ([Memory]).
package wgsl
