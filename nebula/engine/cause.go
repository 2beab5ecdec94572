package engine

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"forgekernel/nebula/collective"
)

// Operations of an [Error] that are none of a group.
const (
	opOpen      = "open"      // the model and the cache
	opPrepare   = "prepare"   // compile programs
	opCheck     = "check"     // a step, against the ledger
	opExecute   = "execute"   // programs
	opCommand   = "command"   // the link to or from rank 0
	opHeartbeat = "heartbeat" // a sign of life
	opStop      = "stop"
)

// causeOf makes the cause of a failure of a rank. A failed call of a group is told
// as such, and laid to the rank that it was waiting for.
func causeOf(rank int, epoch uint32, step uint64, op string, err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	cause := &Error{Rank: rank, Epoch: epoch, Step: step, Op: op, Err: err}
	if e := (*collective.Error)(nil); errors.As(err, &e) {
		cause.Op = cmp.Or(e.Op, op)
		if e.Peer >= 0 {
			cause.Rank = e.Peer
		}
	}
	if e := (*lostError)(nil); errors.As(err, &e) {
		cause.Rank = e.peer
	}
	if e := (*nonsense)(nil); errors.As(err, &e) {
		cause.Rank = e.peer
	}
	return cause
}

// weight says how well a failure explains that the engine has failed.
type weight uint32

// Weights. All but the last may follow from another failure, so that reports of other
// ranks are waited for before one becomes the cause.
const (
	aftermath  weight = iota // a rank was told that another has failed
	noResult                 // rank 0 got no logits in time
	overdue                  // rank 0 sees no sign of life or no progress: of a rank that waits, too
	noLink                   // a process has ended, or so it seems
	waitedLong               // a rank waited for another, which may have waited itself
	conclusive
)

// weigh is the weight of a failure that a rank has seen itself.
func weigh(rank int, err error) weight {
	lost, interrupted := (*lostError)(nil), (*Error)(nil)
	switch {
	case errors.As(err, &interrupted): // by a failure that is known
		return aftermath
	case errors.Is(err, collective.ErrAborted), errors.Is(err, collective.ErrClosed):
		return aftermath
	case errors.As(err, &lost) && rank > 0:
		return aftermath // if rank 0 lives, it knows better
	case errors.As(err, &lost):
		return noLink
	case errors.Is(err, collective.ErrTimeout):
		return waitedLong
	}
	return conclusive
}

// report is what a rank has to say of a failure.
type report struct {
	by int
	weight
	cause *Error
}

// best is the report that explains the others: of those of the largest weight the first
// that blames a rank which does not itself blame another.
func best(list []report) report {
	most := aftermath
	blames := make(map[int]bool)
	for _, r := range list {
		most = max(most, r.weight)
		if r.weight == waitedLong {
			blames[r.by] = true
		}
	}
	var first *report
	for i, r := range list {
		switch {
		case r.weight != most:
		case !blames[r.cause.Rank]:
			return r
		case first == nil:
			first = &list[i]
		}
	}
	return *first
}

// A cause is sent as rank, step in two words, weight, the length of the operation, the
// operation, and the error in words.
const causeBytes = 20

func encodeCause(e *Error, w weight) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(e.Rank))
	b = le.AppendUint64(b, e.Step)
	b = le.AppendUint32(b, uint32(w))
	op := e.Op[:min(len(e.Op), maxText/2)]
	b = append(le.AppendUint32(b, uint32(len(op))), op...)
	text := e.Err.Error()
	return append(b, text[:min(len(text), maxText-len(b))]...)
}

// toldError is a failure that another rank has told of.
type toldError struct{ text string }

func (e toldError) Error() string { return e.text }

// decodeCause reads the cause that a rank has sent, and its weight.
func decodeCause(b []byte, epoch uint32, ranks int) (*Error, weight, error) {
	le := binary.LittleEndian
	if len(b) < causeBytes || int64(le.Uint32(b[16:])) > int64(len(b)-causeBytes) {
		return nil, 0, errors.New("the message of a failure is cut short")
	}
	rank, w, n := le.Uint32(b), weight(le.Uint32(b[12:])), int(le.Uint32(b[16:]))
	if int64(rank) >= int64(ranks) || w > conclusive {
		return nil, 0, fmt.Errorf("the message of a failure names rank %d of %d, with weight %d", rank, ranks, w)
	}
	text := string(b[causeBytes+n:])
	e := &Error{Rank: int(rank), Epoch: epoch, Step: le.Uint64(b[4:]), Op: string(b[causeBytes : causeBytes+n]), Err: toldError{text}}
	return e, w, nil
}
