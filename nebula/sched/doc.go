// Package sched turns requests into steps of an engine.
//
// # Model
//
// A request is a prompt and a way to choose tokens. It waits in a queue, runs,
// and finishes; its [Stream] gives its tokens as they come. A step computes the
// next tokens of several requests at once, and the tokens a request still has to
// compute are all that tells a prefill from a decode: one left is a decode row,
// more are a prefill, computed in chunks.
//
// Before each step the scheduler decides anew who takes part (continuous
// batching). Requests that decode come first, so that a long prompt never stalls
// them; what is left of the step's rows and tokens goes to prompts: half to the
// oldest, the rest to those that need least. An engine with pipeline stages takes several steps at a
// time; the requests are then divided evenly among the steps in flight, and a
// long prompt follows itself through the stages, chunk by chunk.
//
// # Blocks
//
// The pool of blocks is the engine's memory. A request is only accepted if it
// could run alone, so that the oldest one always can go on: when blocks run out,
// the youngest gives up its own, goes back to the queue, and later computes again
// what no shared block has kept. It loses no token that it has given out. With
// [Refuse] nobody ever gives up blocks: a request is accepted only if all that it
// could ever need is not promised to others.
//
// Prompts with a common beginning share its blocks. A request whose beginning is
// just being computed by another waits for it instead of computing it too.
//
// # Ends
//
// A request ends by a stop token, its length, its consumer ([Stream.Stop]),
// cancellation, its deadline, or the failure of the engine. Its stream ends at
// once; its blocks are free and the ranks forget it when the step that it is
// part of has come back, before the next step is sent, exactly once. An engine
// that failed is not asked again: every request that was not finished gets the
// failure, later ones are refused with it, and nothing is retried. A step that
// the engine refuses counts as its failure: the ranks' books are not the
// scheduler's, and nobody can say which are right.
//
// A [Router] spreads requests over several schedulers.
package sched
