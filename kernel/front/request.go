package front

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"forgekernel/kernel/wire"
	"forgekernel/kernel/zmtp"
)

// request is one message of a client on shell or control. Its answer leaves on
// the socket that it came in on.
type request struct {
	*wire.Message
	router *zmtp.Router
	peer   zmtp.Peer
	after  func() // runs after reply and idle; nil does nothing
	// interrupts are those that there were when it came; only set for the debugger.
	interrupts uint64
}

// failure is an error that a client sees by name.
type failure struct{ name, value string }

func (e *failure) Error() string { return e.value }

// failureOf is the error part of a reply for err.
func failureOf(err error) wire.Failure {
	name := "KernelError"
	var named *failure
	var decode *wire.DecodeError
	switch {
	case errors.As(err, &named):
		name = named.name
	case errors.As(err, &decode):
		name = "BadRequest"
	}
	return wire.Failure{Name: name, Value: err.Error(), Traceback: wire.List[string]{headline(name, err.Error())}}
}

// reply sends content as the answer to r.
func (f *front) reply(r *request, msgType string, content any) {
	m, err := f.session.New(msgType, r.Message, content)
	if err != nil { // content of the session that JSON cannot represent
		f.log.Error("reply", "type", msgType, "error", err)
		m, err = f.session.New(msgType, r.Message, wire.ErrorReply{Status: wire.StatusError, Failure: failureOf(err)})
		if err != nil {
			return
		}
	}
	m.Identities = r.Identities
	if err := r.router.Send(r.peer, f.signer.Serialize(m)...); err != nil {
		// The client is gone or does not read: its own loss.
		f.log.Debug("reply", "type", msgType, "error", err)
	}
}

// rateLimit lets through a few events a minute: stderr may be a pipe that
// nobody reads, and untrusted input must not be able to fill it.
type rateLimit struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

const logsPerMinute = 10

func (r *rateLimit) allow() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.since) > time.Minute {
		r.since, r.n = now, 0
	}
	r.n++
	return r.n <= logsPerMinute
}

// dropped logs a message that cannot be served.
func (f *front) dropped(channel string, err error) {
	if f.badInput.allow() {
		f.log.Warn("message dropped", slog.String("channel", channel), slog.Any("error", err))
	}
}
