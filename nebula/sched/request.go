package sched

import (
	"errors"
	"fmt"
	"time"

	"forgekernel/nebula/sample"
)

// Request asks for a continuation of a prompt.
type Request struct {
	Prompt []int32 // at least one token
	// How tokens are chosen, which of them end the request, and how many there
	// may be. Stop strings are not looked at here: whoever makes text of the
	// tokens ends the stream (Stream.Stop).
	Params   sample.Params
	Deadline time.Time // zero = none
}

// Reason is why a request ended.
type Reason uint8

// The ends of a request.
const (
	Stopped   Reason = iota // by a stop token or by its consumer
	Length                  // Params.MaxTokens, or the context is full
	Cancelled               // the context of Submit ended or the stream was closed
	Expired                 // its deadline passed
	Failed                  // the engine, the sampler or the scheduler's end
	reasons
)

var reasonNames = [reasons]string{"stop", "length", "cancelled", "deadline", "failed"}

func (r Reason) String() string { return reasonNames[r] }

// Finish is how a request ended.
type Finish struct {
	Reason Reason
	Err    error // nil for Stopped and Length; *EngineError when the engine failed
	Usage  Usage
}

// Usage is what a request took. Times that never came are zero.
type Usage struct {
	Prompt    int // tokens of the prompt
	Cached    int // of these, found in shared blocks
	Generated int // tokens computed; when a consumer ended it, there may be more than it took
	Preempted int // how often it gave its blocks up
	Full      int // tokens, prompt included, that context and cache have room for, where these end it before MaxTokens does
	Submitted time.Time
	Started   time.Time // first part of the prompt went into a step
	First     time.Time // first token
	Last      time.Time // last token
}

// Queued returns how long the request waited for its first step.
func (u Usage) Queued() time.Duration { return span(u.Submitted, u.Started) }

// TimeToFirst returns the time from submission to the first token.
func (u Usage) TimeToFirst() time.Duration { return span(u.Submitted, u.First) }

// PerToken returns the mean time between tokens; 0 with fewer than two.
func (u Usage) PerToken() time.Duration {
	if u.Generated < 2 {
		return 0
	}
	return u.Last.Sub(u.First) / time.Duration(u.Generated-1)
}

func span(from, to time.Time) time.Duration {
	if to.IsZero() {
		return 0
	}
	return to.Sub(from)
}

// ErrClosed is the error of requests that a closing scheduler ended or refused.
var ErrClosed = errors.New("the scheduler is closed")

// QueueFull says that a scheduler has as many unfinished requests as it takes.
type QueueFull struct{ Pending, Limit int }

func (e *QueueFull) Error() string {
	return fmt.Sprintf("queue full: %d unfinished requests of at most %d", e.Pending, e.Limit)
}

// TooLong says that a prompt leaves no room to generate anything.
type TooLong struct{ Prompt, Most int }

func (e *TooLong) Error() string {
	return fmt.Sprintf("prompt of %d tokens: at most %d fit, with room for one more", e.Prompt, e.Most-1)
}

// EngineError is the failure of the engine under a request.
type EngineError struct {
	Generated int // tokens that the request had given out
	Err       error
}

func (e *EngineError) Error() string {
	return fmt.Sprintf("engine failed after %d tokens: %v", e.Generated, e.Err)
}

// Unwrap returns the engine's own error.
func (e *EngineError) Unwrap() error { return e.Err }
