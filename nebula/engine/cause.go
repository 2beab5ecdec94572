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
	return cause
}

// follows reports whether a failure most likely follows from another one, on another
// rank, which makes the better cause.
func follows(err error) bool {
	lost := (*lostError)(nil)
	return errors.Is(err, collective.ErrAborted) || errors.Is(err, collective.ErrClosed) || errors.As(err, &lost)
}

// A cause is sent as rank, step in two words, 1 if it follows from another, the
// length of the operation, the operation, and the error in words.
const causeBytes = 20

func encodeCause(e *Error) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(e.Rank))
	b = le.AppendUint64(b, e.Step)
	b = le.AppendUint32(b, uint32(bit(follows(e.Err))))
	op := e.Op[:min(len(e.Op), maxText/2)]
	b = append(le.AppendUint32(b, uint32(len(op))), op...)
	text := e.Err.Error()
	return append(b, text[:min(len(text), maxText-len(b))]...)
}

// toldError is a failure that another rank has told of.
type toldError struct{ text string }

func (e toldError) Error() string { return e.text }

// decodeCause reads the cause that a rank has sent, and whether it follows from
// another.
func decodeCause(b []byte, epoch uint32, ranks int) (e *Error, secondary bool, err error) {
	le := binary.LittleEndian
	if len(b) < causeBytes || int64(le.Uint32(b[16:])) > int64(len(b)-causeBytes) {
		return nil, false, errors.New("the message of a failure is cut short")
	}
	rank, n := le.Uint32(b), int(le.Uint32(b[16:]))
	if int64(rank) >= int64(ranks) {
		return nil, false, fmt.Errorf("the message of a failure names rank %d of %d", rank, ranks)
	}
	text := string(b[causeBytes+n:])
	e = &Error{Rank: int(rank), Epoch: epoch, Step: le.Uint64(b[4:]), Op: string(b[causeBytes : causeBytes+n]), Err: toldError{text}}
	return e, le.Uint32(b[12:]) == 1, nil
}
