package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// StopTime is how long a rank that was asked to stop may take to exit before
	// it is ended. Launchers kill theirs after 30 s.
	StopTime = 10 * time.Second

	// inbox is how many frames a rank holds for [Rank.Recv].
	inbox = 16
)

// stopTime is StopTime, which tests shorten.
var stopTime = StopTime

// ErrStopped is the cause of the end of [Rank.Context].
var ErrStopped = errors.New("the rank was asked to stop")

// Rank is the calling process as a rank of a job.
type Rank struct {
	Job     Job
	Dir     string // the job's folder; empty when a launcher started the rank
	Token   string // what ranks of one job prove themselves with; NEBULA_TOKEN under a launcher
	Payload []byte // [Spec.Payload]; nil when a launcher started the rank

	channel *Channel // nil when a launcher started the rank
	frames  chan Frame
	ended   error // of the channel; valid when frames is closed
	ctx     context.Context
	stop    context.CancelCauseFunc
	ending  sync.Once
}

// Attach makes the calling process a rank: it finds its place, takes its
// assignment if [Start] started it, and from then on ends with its parent, also
// while it computes in C. It ignores SIGINT; SIGTERM and the parent's wish to
// stop end [Rank.Context], and the process itself when it is still there
// [StopTime] later. A process attaches once.
func Attach() (*Rank, error) {
	r := &Rank{Token: os.Getenv("NEBULA_TOKEN")}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	_, started := os.LookupEnv(controlVariable)
	if started {
		if err := r.openChannel(); err != nil {
			return nil, err
		}
	}
	var err error
	if r.Job, err = Detect(os.LookupEnv); err != nil {
		return nil, err
	}
	signal.Ignore(syscall.SIGINT)
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	go func() {
		<-terminate
		r.finish(ErrStopped)
	}()
	if !started {
		return r, nil
	}
	if err := r.takeAssignment(); err != nil {
		return nil, err
	}
	go r.receive()
	return r, nil
}

// openChannel takes descriptor 3 and begins to watch it.
func (r *Rank) openChannel() error {
	os.Unsetenv(controlVariable) // what the rank starts is no rank
	kind, err := unix.GetsockoptInt(controlFD, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM {
		return fmt.Errorf("descriptor %d is not a control channel: %s is for ranks that a job starts itself", controlFD, controlVariable)
	}
	unix.CloseOnExec(controlFD)
	if err := unix.SetNonblock(controlFD, true); err != nil {
		return fmt.Errorf("control channel: %w", err)
	}
	watched, err := unix.FcntlInt(controlFD, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("control channel: %w", err)
	}
	r.channel = &Channel{file: os.NewFile(controlFD, "control channel")}
	go watch(watched)
	return nil
}

// watch ends this process and its group when the parent has gone. It has a thread
// of its own and needs nothing that a computation could hold.
func watch(fd int) {
	runtime.LockOSThread()
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: hangup}}, -1)
		if err != unix.EINTR {
			endGroup()
		}
	}
}

// endGroup does not return.
func endGroup() {
	if unix.Getpgrp() == unix.Getpid() { // else the group is not ours
		unix.Kill(0, unix.SIGKILL)
	}
	unix.Exit(exitStopped)
}

// exitStopped is the status of a rank that had to end itself, as a shell gives it
// for SIGTERM.
const exitStopped = 128 + int(unix.SIGTERM)

func (r *Rank) takeAssignment() error {
	f, err := r.channel.Recv()
	if err != nil {
		return err
	}
	if f.Kind != kindAssignment {
		return fmt.Errorf("control channel: a frame of kind %d where the assignment was due", f.Kind)
	}
	var a assignment
	if err := json.Unmarshal(f.Body, &a); err != nil {
		return fmt.Errorf("assignment: %w", err)
	}
	r.Dir, r.Token, r.Payload = a.Dir, a.Token, a.Payload
	r.frames = make(chan Frame, inbox)
	return nil
}

// receive hears the wish to stop. One behind more than inbox frames that nobody
// takes is heard as SIGTERM.
func (r *Rank) receive() {
	defer close(r.frames)
	for {
		f, err := r.channel.Recv()
		switch {
		case err == nil && f.Kind == kindStop:
			r.finish(ErrStopped)
			continue
		case err == nil && f.Kind < FirstKind:
			err = fmt.Errorf("control channel: a frame of kind %d, which this version does not know", f.Kind)
		}
		if err != nil {
			r.ended = err
			r.finish(err)
			return
		}
		r.frames <- f
	}
}

// finish begins the end. A timer ends the process if the rest of it does not.
func (r *Rank) finish(cause error) {
	r.ending.Do(func() {
		time.AfterFunc(stopTime, func() {
			if r.channel != nil {
				endGroup()
			}
			unix.Exit(exitStopped) // a launcher's group may hold others
		})
		r.stop(cause)
	})
}

// Context ends when the rank was asked to stop; the cause is then [ErrStopped].
// After garbage on the control channel it ends too, and that is the cause.
func (r *Rank) Context() context.Context { return r.ctx }

// Started reports whether [Start] started the rank, so that it has a control
// channel.
func (r *Rank) Started() bool { return r.channel != nil }

// errNoChannel is the error of channels that a launcher's ranks do not have.
var errNoChannel = errors.New("a rank that a launcher started has no control channel")

// Send sends a frame to the parent.
func (r *Rank) Send(ctx context.Context, f Frame) error {
	if r.channel == nil {
		return errNoChannel
	}
	return r.channel.Send(ctx, f)
}

// Recv returns the parent's next frame.
func (r *Rank) Recv(ctx context.Context) (Frame, error) {
	if r.channel == nil {
		return Frame{}, errNoChannel
	}
	select {
	case f, ok := <-r.frames:
		if !ok {
			return Frame{}, r.ended
		}
		return f, nil
	case <-ctx.Done():
		return Frame{}, context.Cause(ctx)
	}
}
