// Package serve lets a program use a job whose ranks are other processes.
//
// A [Service] is a job as its users see it: requests go in, tokens come out, and
// what the job is doing can be asked. [Local] is one in this process: an engine
// with its scheduler. [Serve] offers a Service to the other end of a control
// channel, and a [Client] there is the same Service again. So what uses a job
// need not know where its ranks are.
//
// Only token ids travel. The client makes text of them, finds stop strings, and
// stops a request that it has enough of.
//
// # Frames
//
// The client numbers its requests and questions. A frame holds the number, then
// a body: fixed binary fields for tokens, of which there are many, JSON for the
// rest, which is only read into known types. Answers may be larger than a frame
// and travel in parts. Errors keep their types where callers ask for them.
//
// When the engine fails, the leader says why and leaves. When the channel ends,
// every request of the client ends with the reason, and the leader ends the
// requests of the client.
package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/trace"
)

// Service is a job as its users see it. It is safe for concurrent use.
type Service interface {
	// Info tells the sizes of the engine.
	Info() engine.Info
	// Submit queues a request, which ends when ctx does. Its errors are those of
	// [sched.Scheduler.Submit].
	Submit(ctx context.Context, r sched.Request) (*sched.Stream, error)
	// State is what the job is doing.
	State(ctx context.Context) (State, error)
	// Steps are the latest steps of the scheduler, oldest first.
	Steps(ctx context.Context) ([]sched.Step, error)
	// Describe tells what a rank has and runs.
	Describe(ctx context.Context, rank int) (engine.Description, error)
	// Trace is what all ranks have recorded.
	Trace(ctx context.Context) ([]trace.Rank, error)
	// Ask has a task done where the leader is: see [Task].
	Ask(ctx context.Context, task string, args json.RawMessage) (json.RawMessage, error)
	// Over is closed when the job has failed or was closed: nothing more comes of it.
	Over() <-chan struct{}
	// Close ends all requests and what carries them out.
	Close() error
}

// State is what a job is doing.
type State struct {
	Engine    engine.Status
	Scheduler sched.Metrics
}

// Task is work on a job that is best done beside its leader, such as a
// measurement. Arguments and result are JSON.
type Task func(ctx context.Context, s *Local, args json.RawMessage) (any, error)

// Conn carries frames; a [launch.Rank] is one, and [Parent] makes one of the
// other end.
type Conn interface {
	Send(ctx context.Context, f launch.Frame) error
	// Recv returns the next frame, io.EOF when the other end is gone.
	Recv(ctx context.Context) (launch.Frame, error)
}

// Parent is the channel of a rank as the Conn of the process that started it.
func Parent(c *launch.Channel) Conn { return parent{c} }

type parent struct{ *launch.Channel }

// Recv ends with the channel, not with the context.
func (p parent) Recv(context.Context) (launch.Frame, error) { return p.Channel.Recv() }

// Local is a job whose leader is in this process.
type Local struct {
	Engine    *engine.Leader
	Scheduler *sched.Scheduler
	Tasks     map[string]Task

	closing []func()
}

// NewLocal starts a scheduler for an engine. Close ends both.
func NewLocal(e *engine.Leader, o sched.Options, tasks map[string]Task) (*Local, error) {
	s, err := sched.New(e, o)
	if err != nil {
		return nil, err
	}
	return &Local{Engine: e, Scheduler: s, Tasks: tasks}, nil
}

// Info implements Service.
func (l *Local) Info() engine.Info { return l.Engine.Info() }

// Submit implements Service.
func (l *Local) Submit(ctx context.Context, r sched.Request) (*sched.Stream, error) {
	return l.Scheduler.Submit(ctx, r)
}

// State implements Service.
func (l *Local) State(context.Context) (State, error) {
	return State{l.Engine.Status(), l.Scheduler.Metrics()}, nil
}

// Steps implements Service.
func (l *Local) Steps(context.Context) ([]sched.Step, error) { return l.Scheduler.Steps(), nil }

// Describe implements Service.
func (l *Local) Describe(ctx context.Context, rank int) (engine.Description, error) {
	return l.Engine.Describe(ctx, rank)
}

// Trace implements Service.
func (l *Local) Trace(ctx context.Context) ([]trace.Rank, error) { return l.Engine.Trace(ctx) }

// Ask implements Service.
func (l *Local) Ask(ctx context.Context, task string, args json.RawMessage) (json.RawMessage, error) {
	t, ok := l.Tasks[task]
	if !ok {
		return nil, fmt.Errorf("this job has no task %q; it has %v", task, names(l.Tasks))
	}
	result, err := t(ctx, l, args)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

func names(tasks map[string]Task) []string {
	list := make([]string, 0, len(tasks))
	for name := range tasks {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// Over implements Service.
func (l *Local) Over() <-chan struct{} { return l.Engine.Over() }

// OnClose adds what is to be done after the engine was closed.
func (l *Local) OnClose(f func()) { l.closing = append(l.closing, f) }

// Close implements Service.
func (l *Local) Close() error {
	l.Scheduler.Close()
	err := l.Engine.Close()
	for _, f := range slices.Backward(l.closing) {
		f()
	}
	l.closing = nil
	return err
}
