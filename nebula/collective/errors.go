package collective

import (
	"errors"
	"fmt"
)

// Kinds of failures, for errors.Is.
var (
	ErrTimeout  = errors.New("the deadline has passed")
	ErrDead     = errors.New("a rank has died")
	ErrDiverged = errors.New("ranks make different calls")
	ErrAborted  = errors.New("the group was aborted")
	ErrClosed   = errors.New("the group is closed")
)

// Error is the failure of a group. Ranks are those of the job.
type Error struct {
	Group string
	Rank  int    // whose error this is
	Epoch uint32 // of the job
	Seq   uint64 // the number of the call during or after which it failed, from 1
	Op    string // that call, such as "all_reduce"; empty before the first
	Peer  int    // the rank at fault or, if there are several, the first; -1 if not known
	Err   error  // wraps one of the kinds, or the cause that ended the context
}

func (e *Error) Error() string {
	call := ""
	if e.Op != "" {
		call = fmt.Sprintf(", at %s number %d", e.Op, e.Seq)
	}
	return fmt.Sprintf("rank %d, group %s, epoch %d%s: %v", e.Rank, e.Group, e.Epoch, call, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// reason is a failure of some kind in words.
type reason struct {
	kind  error
	text  string
	cause error // what lies behind it, if anything
}

func (r *reason) Error() string { return r.text }

func (r *reason) Unwrap() []error {
	if r.cause == nil {
		return []error{r.kind}
	}
	return []error{r.kind, r.cause}
}

// kinds are the failures that a rank can tell others of, by their number in a
// message. Any other is number 0.
var kinds = []error{nil, ErrTimeout, ErrDead, ErrDiverged, ErrAborted, ErrClosed}

// kindOf is the number of an error's kind. What an abort was caused by goes first.
func kindOf(err error) byte {
	for _, i := range []byte{1, 2, 3, 5, 4} {
		if errors.Is(err, kinds[i]) {
			return i
		}
	}
	return 0
}

// notice is a failure as other ranks are told of it.
type notice struct {
	kind byte
	peer int
	text string
}

func (e *Error) notice() notice {
	text := e.Err.Error()
	if e.Op != "" {
		text = fmt.Sprintf("%s number %d: %s", e.Op, e.Seq, text)
	}
	return notice{kindOf(e.Err), e.Peer, text}
}
