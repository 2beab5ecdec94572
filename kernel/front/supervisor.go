package front

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"forgekernel/kernel/link"
)

// maxFutile is how many sessions in a row may end without having been given a
// cell before the supervisor rests: it then starts one more only when a cell
// needs it.
const maxFutile = 3

// respawnDelay grows with each session that ended in vain.
const respawnDelay = 50 * time.Millisecond

// supervisor keeps one session running and remembers what a new one must know.
type supervisor struct {
	start func() (*session, error)
	// greet sends a new session what it must know before its first cell.
	greet func(*session)
	// cleanUp runs when a session has ended, before its end is told.
	cleanUp func(*session)
	log     *slog.Logger

	mu          sync.Mutex
	current     *session      // nil while there is none that said Hello
	changed     chan struct{} // closed and replaced when the state changes
	resting     bool
	ended       bool // for good
	last        crash
	futile      int
	wake        chan struct{} // ends a rest
	symbols     []link.Symbol
	definitions []link.Definition
	lostBy      *session // whose loss is lost
	lost        loss
	told        bool            // a person has been told of the loss
	missed      map[string]bool // names that ended sessions held, and none has since
}

func newSupervisor(start func() (*session, error), greet, cleanUp func(*session), log *slog.Logger) *supervisor {
	return &supervisor{
		start: start, greet: greet, cleanUp: cleanUp, log: log,
		changed: make(chan struct{}), wake: make(chan struct{}, 1), missed: map[string]bool{},
	}
}

// run starts session after session until ctx ends. Its thread is the parent
// whose death kills a session, so it is locked and does nothing else.
func (v *supervisor) run(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for v.pause(ctx) {
		s, err := v.start()
		if err != nil {
			v.over(nil, crash{reason: err.Error()})
			continue
		}
		select {
		case <-s.ready:
			v.greet(s)
			v.set(s)
		case <-s.dead:
		case <-ctx.Done():
		}
		select {
		case <-s.dead:
		case <-ctx.Done():
			s.farewell("the kernel was shut down")
		}
		v.cleanUp(s)
		v.over(s, s.crash)
	}
	v.mu.Lock()
	v.ended = true
	v.notify()
	v.mu.Unlock()
}

// pause waits until another session should start; false means never.
func (v *supervisor) pause(ctx context.Context) bool {
	v.mu.Lock()
	futile := v.futile
	if futile >= maxFutile {
		v.resting = true
		v.notify()
	}
	v.mu.Unlock()
	if futile >= maxFutile {
		select {
		case <-v.wake:
		case <-ctx.Done():
		}
	} else if futile > 0 {
		select {
		case <-time.After(time.Duration(futile) * respawnDelay):
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// notify tells those who wait that the state changed; v.mu is held.
func (v *supervisor) notify() {
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *supervisor) set(s *session) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.current = s
	v.notify()
}

// over records the end of a session, or of an attempt to start one.
func (v *supervisor) over(s *session, c crash) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.current, v.last = nil, c
	if s != nil && s.used() {
		v.futile = 0
		v.loseLocked(s)
	} else {
		v.futile++
		if name, what := c.explain(); v.futile <= maxFutile { // later ones are told to those who ask
			v.log.Warn("the session ended", "error", name, "reason", what, "attempt", v.futile)
		}
	}
	v.notify()
}

// acquire returns the session, waiting while it starts. When the supervisor
// rests it has one more try made, and reports why that failed.
func (v *supervisor) acquire(ctx context.Context) (*session, error) {
	asked := false
	for {
		v.mu.Lock()
		current, ended, changed := v.live(), v.ended, v.changed
		failed := v.resting && asked
		last := v.last
		if v.resting && !asked && current == nil {
			asked = true
			v.resting = false
			select {
			case v.wake <- struct{}{}:
			default:
			}
		}
		v.mu.Unlock()
		switch {
		case current != nil:
			return current, nil
		case ended:
			return nil, &failure{"KernelShutdown", "the kernel was shut down"}
		case failed:
			name, what := last.explain()
			return nil, &failure{name, fmt.Sprintf("the session cannot be started: %s", what)}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// now returns the session if there is one at this moment.
func (v *supervisor) now() *session {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.live()
}

// live returns the current session unless it has just died; v.mu is held.
func (v *supervisor) live() *session {
	if v.current == nil {
		return nil
	}
	select {
	case <-v.current.dead:
		return nil
	default:
		return v.current
	}
}

// learn keeps what a finished cell says about the session's content.
func (v *supervisor) learn(done link.DoneBody) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.symbols, v.definitions = done.Symbols, done.Definitions
	for _, s := range v.symbols {
		delete(v.missed, s.Name)
	}
}

// undefined finds the name that a cell lacks in the message of its error.
var undefined = regexp.MustCompile(`^undefined: (\w+)$`)

// remind adds to the error of a cell that lacks a name that a session before had it.
func (v *supervisor) remind(e *link.Error) {
	if e == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if name := undefined.FindStringSubmatch(e.Value); name != nil && v.missed[name[1]] {
		e.Traceback = append(e.Traceback, "\x1b[32mhint\x1b[0m: "+name[1]+" was lost when the session ended; run the cell again that defines it")
	}
}

// loss is what the end of a session cost.
type loss struct {
	held     []link.Symbol     // what it held
	restored []link.Definition // what its successor is given back
}

// lose returns the loss of a session that ended, for a person to be told; all
// of its cells get the same one.
func (v *supervisor) lose(s *session) loss {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.loseLocked(s)
	v.told = true
	return v.lost
}

func (v *supervisor) loseLocked(s *session) {
	if v.lostBy != s {
		v.lostBy, v.lost, v.told = s, loss{held: v.symbols, restored: v.definitions}, false
		for _, s := range v.symbols {
			v.missed[s.Name] = true
		}
		v.symbols = nil
	}
}

// takeNotice returns, once, the news of a session that ended between two cells.
func (v *supervisor) takeNotice() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lostBy == nil || v.told {
		return ""
	}
	v.told = true
	return strings.Join(v.lostBy.crash.failure(v.lost).Traceback, "\n") + "\n"
}

func (v *supervisor) restorable() []link.Definition {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.definitions
}
