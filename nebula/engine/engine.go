// Package engine executes steps of a decoder on the ranks of a job.
//
// A step is a set of rows. A [Row] is some consecutive tokens of one request, the
// position of the first and the blocks of the cache in which the request lies; a
// row of one token is a decode, a longer one a chunk of a prefill. The engine
// writes the keys and values of the tokens into the blocks and returns the logits
// of the last token of each row that asks for them. Which requests exist, which
// blocks they have and what becomes of the logits is decided above the engine, by
// package sched; how a step is cut into compiled programs is decided here and seen
// by nobody.
//
// # Steps
//
// Steps complete in the order in which they are submitted. As many may be in
// flight as there are pipeline stages ([Info].Depth), so that all stages have work:
// Submit returns when the step is on its way and blocks while too many are. The
// rows of a step are of different requests. A request may be in several steps in
// flight, each of which continues the one before: chunks of a prompt follow one
// another through the stages.
//
// Before any rank touches its cache for a step, all ranks have checked it against
// their own ledger and told one another so. A step that breaks a rule is refused as
// a whole with a [*Refused]; nothing has happened then and the engine is as healthy
// as before.
//
// # Ranks
//
// Rank 0 leads ([Lead]); the others serve ([Serve]), each in a process of its own or,
// with [Local], in goroutines. A rank has its part of the model, the blocks of its
// layers and heads, and a ledger of what these hold. Rank 0 sends each step over links,
// as integers behind a header of fixed size; nothing is decided elsewhere. A rank that
// has checked a step agrees with all others in one all_reduce of the message's hash and
// hands the step to the goroutine that executes, so that agreement about one step goes
// on during the execution of the one before.
//
// A step is cut into passes: rows of one token go to a program for 1, 2, 4 … of them,
// chunks to programs for 16, 32, 64 … tokens. All ranks compile a program before the
// engine is there, if [Options.Ready] says so, else when the first step needs it. Its
// arguments and the cache stay where they are from step to step, and so do logits that
// are given back ([Result.Reuse]).
//
// # Failure
//
// An engine is healthy until something fails on one of the ranks, and failed from
// then on; there is no way back but a new engine. The first failure is the cause,
// an [*Error], and every call that waits, then and later, returns it. Steps that
// were in flight may have been executed in part, and are not repeated. [Engine.Close]
// always ends.
//
// # Deadlines
//
// The deadline is about silence. Ranks answer rank 0 while they compute, and one that
// does not answer for the deadline has failed, whatever it was doing: its process is
// stopped, or its host is gone. What a rank computes takes the time that it takes: a
// pass has the deadline once for every 16 tokens of its rows, so has every wait for it
// in another rank, and a step has those of its passes on all stages. A chunk of 512
// tokens may so take 32 deadlines, while a program that never ends is still found, soon
// in a decode. Compiling is not
// part of any step, and has minutes.
//
// Ranks see a failure in different ways: one waits for another in vain, which waits for
// a third. Rank 0 collects for a moment what they have to say, and blames the rank that
// blames no other. It then tells the cause to all, and Serve returns it.
package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forgekernel/nebula/sample"
)

// Engine executes steps. It is safe for concurrent use.
type Engine interface {
	// Info tells the sizes that a step has to fit.
	Info() Info
	// Submit checks a step, sends it to all ranks and returns. It waits while
	// Info.Depth steps are in flight. The error is a *Refused when the step breaks a
	// rule, the cause when ctx ends before the step is sent, else that of the engine.
	// The engine keeps nothing of step.
	Submit(ctx context.Context, step Step) (Ticket, error)
	// Wait returns the result of a step, once. When ctx ends it returns the cause; the
	// step runs to its end, and may be waited for again.
	Wait(ctx context.Context, t Ticket) (Result, error)
	// Release makes all ranks forget a request. Its blocks may be given to others in
	// any step that is submitted later. A request that is not known is none that needs
	// forgetting, so that it is no error; one with a step in flight is.
	Release(ctx context.Context, request uint64) error
	// Status tells how the engine is, without waiting for anything.
	Status() Status
	// Close ends the ranks. It waits no longer than the engine's deadline, and a
	// second call does nothing. The error is that of a failed engine.
	Close() error
}

// Row is a part of one request in a step.
type Row struct {
	Request uint64
	// Tokens are consecutive tokens of the request, at least one.
	Tokens []int32
	// Pos is the position of the first token: the number of tokens of the request
	// that the cache holds already, by earlier steps or in blocks that it shares.
	Pos int
	// Blocks is the block table: position p is at place p mod BlockSize of block
	// Blocks[p/BlockSize]. It reaches at least to the last token.
	Blocks []int32
	// Logits asks for the logits of the last token.
	Logits bool
	// Lead says that of these logits the lead is enough: where a device finds it, the
	// others stay there.
	Lead bool
}

// Step is what the ranks execute at once.
type Step struct {
	Rows []Row
}

// Ticket is a step that has been submitted: its sequence number, from 1.
type Ticket uint64

// Result is what a step gave.
type Result struct {
	// Logits has an entry for each row of the step: Info.Vocab numbers, or nil for a row
	// that did not ask. They belong to the caller, who may give them back: see Reuse.
	Logits [][]float32
	// Leads has an entry for each row of the step if a device finds the leads of logits,
	// else it is nil. Rows that a lead is enough for have no logits then.
	Leads []sample.Lead
	Times Times

	record *record
}

// Times are those of one step on the clock of rank 0.
type Times struct {
	Submitted time.Time // Submit had checked the step
	Started   time.Time // the first program began on rank 0
	Done      time.Time // the logits were at rank 0
}

// Info describes an engine.
type Info struct {
	TP, PP int // ranks of a stage, and stages
	Vocab  int // of the logits
	// Context is the most tokens that a request may have in its cache.
	Context   int
	BlockSize int // positions in a block
	Blocks    int // in the pool, numbered from 0
	MaxRows   int // of a step
	MaxTokens int // of all rows of a step together
	Depth     int // steps that may be in flight
}

// Health is how an engine is. It only ever grows.
type Health uint8

// The states of an engine.
const (
	Healthy Health = iota
	Failed
	Closed
)

// String is "healthy", "failed" or "closed".
func (h Health) String() string {
	return [...]string{"healthy", "failed", "closed"}[h]
}

// Status is how an engine is at one time.
type Status struct {
	Health Health
	Err    error // why it failed; nil if it did not
	Steps  uint64
	Tokens uint64 // of all completed steps
	Ranks  []RankStatus
}

// RankStatus is what rank 0 knows of a rank.
type RankStatus struct {
	Rank  int
	State string    // "starting", "idle", "running", "failed", "closed"
	Step  uint64    // the last one that it began
	Last  string    // its last collective: "all_reduce 812 of tp"
	Seen  time.Time // when it said so
}

// ErrClosed is the error of calls to an engine that was closed while healthy.
var ErrClosed = errors.New("the engine is closed")

// Refused says why a step was not begun.
type Refused struct {
	Row    int // index in the step; -1 for the step as a whole
	Reason string
}

// Error names the row and the rule.
func (e *Refused) Error() string {
	if e.Row < 0 {
		return "step refused: " + e.Reason
	}
	return fmt.Sprintf("step refused: row %d: %s", e.Row, e.Reason)
}

// Error is the cause of a failed engine: the first failure on any of its ranks.
type Error struct {
	Rank  int    // on which it was seen
	Epoch uint32 // of the job
	Step  uint64 // the step at which the rank was; 0 for none
	Op    string // what the rank was doing: "execute", "agree", "all_reduce"
	Err   error
}

// Error names rank, epoch, operation and step.
func (e *Error) Error() string {
	at := ""
	if e.Step > 0 {
		at = fmt.Sprintf(" of step %d", e.Step)
	}
	return fmt.Sprintf("rank %d, epoch %d: %s%s: %v", e.Rank, e.Epoch, e.Op, at, e.Err)
}

// Unwrap is the failure itself.
func (e *Error) Unwrap() error { return e.Err }
