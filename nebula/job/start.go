package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/model"
	"forgekernel/nebula/serve"
)

// Command are the arguments that make this binary a rank, which calls [Attend].
var Command = []string{"nebula", "rank"}

const (
	// grace is how long ranks may take to stop when asked to, and again when told
	// to: they have nothing to save.
	grace = 500 * time.Millisecond
	// endTime bounds the end of a job's processes.
	endTime = 10 * time.Second
	// collecting bounds the wait for the operating system to say how a rank ended.
	collecting = time.Second
)

// Processes is a job whose ranks are processes that this one started.
type Processes struct {
	*serve.Client
	ranks *launch.Ranks

	mu     sync.Mutex
	exits  []launch.Exit
	exited chan struct{} // closed when one has ended
	ended  chan struct{} // closed when no process is left
	close  sync.Once
	err    error
}

// Start starts the ranks of a job and returns when they are ready. ctx bounds
// the start alone.
func Start(ctx context.Context, m *model.Model, s Spec) (*Processes, error) {
	return start(ctx, m, s, launch.Spec{Command: Command, Grace: grace})
}

// start starts the ranks as how says, which the spec of the job completes.
func start(ctx context.Context, m *model.Model, s Spec, how launch.Spec) (*Processes, error) {
	if s.Model == "" {
		s.Model = m.Ref()
	}
	if err := s.Check(m); err != nil {
		return nil, err
	}
	if err := s.checkDevices(s.Layout.Ranks()); err != nil {
		return nil, err
	}
	if err := s.FitsHere(m, s.Layout.Places()...); err != nil {
		return nil, err
	}
	var err error
	if how.Payload, err = json.Marshal(s); err != nil {
		return nil, err
	}
	how.Ranks, how.Stopped = s.Layout.Ranks(), s.deadline()
	ranks, err := launch.Start(ctx, how)
	if err != nil {
		return nil, err
	}
	p := &Processes{ranks: ranks, exited: make(chan struct{}), ended: make(chan struct{})}
	go p.collect()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go p.attend(ctx, cancel, how.Epoch)
	p.Client, err = serve.Dial(ctx, serve.Parent(ranks.Channel(0)), serve.Terms{
		Opening: s.assembly(), Deadline: s.deadline(), Epoch: how.Epoch, Why: p.why,
	})
	if err != nil {
		cancel(nil)
		err = p.blame(err)
		p.end()
		return nil, err
	}
	go func() { // nothing of a job that is over stays
		<-p.Client.Over()
		p.end()
	}()
	return p, nil
}

// attend ends a start when a rank has ended. If the leader has seen it, it has the
// time to say what it knows.
func (p *Processes) attend(ctx context.Context, cancel context.CancelCauseFunc, epoch uint32) {
	select {
	case <-ctx.Done():
		return
	case <-p.exited:
	}
	select {
	case <-ctx.Done():
	case <-time.After(collecting):
		cancel(p.lastWord(p.Exits()[0], epoch))
	}
}

// lastWord is why a rank has ended: what it has said, or else how.
func (p *Processes) lastWord(x launch.Exit, epoch uint32) error {
	if said := p.refusal(x.Rank); said != nil {
		return said
	}
	return &engine.Error{Rank: x.Rank, Epoch: epoch, Op: opStart, Err: x}
}

// refusal is what a rank other than the leader has said before it ended.
func (p *Processes) refusal(rank int) (said *engine.Error) {
	if rank != 0 {
		errors.As(serve.Refusal(context.Background(), serve.Parent(p.ranks.Channel(rank))), &said)
	}
	return said
}

// opStart is the operation of a rank that ends before the job has begun.
const opStart = "start"

// collect notes how ranks end.
func (p *Processes) collect() {
	for e := range p.ranks.Exits() {
		p.mu.Lock()
		if p.exits = append(p.exits, e); len(p.exits) == 1 {
			close(p.exited)
		}
		p.mu.Unlock()
	}
	close(p.ended)
}

// why is how a rank has ended on which the job has failed. That of rank 0 is waited
// for, because its channel has just ended; others may well be running.
func (p *Processes) why(rank int) *launch.Exit {
	if rank == 0 {
		return p.exit(0, collecting)
	}
	return p.exit(rank, grace/4)
}

// exit is how a rank has ended, if that is known within a limit.
func (p *Processes) exit(rank int, limit time.Duration) *launch.Exit {
	late := time.After(limit)
	for over := false; ; {
		for _, e := range p.Exits() {
			if e.Rank == rank {
				return &e
			}
		}
		if over {
			return nil
		}
		select {
		case <-p.ended:
			over = true
		case <-late:
			over = true
		case <-time.After(time.Millisecond):
		}
	}
}

// blame gives the failure of a start as the rank that is at fault has told it before it
// ended, or adds how it has.
func (p *Processes) blame(err error) error {
	e := (*engine.Error)(nil)
	if !errors.As(err, &e) || errors.As(err, new(launch.Exit)) {
		return err
	}
	x := p.exit(e.Rank, grace/4)
	if x == nil {
		return err
	}
	if said := p.refusal(e.Rank); said != nil {
		return said
	}
	if x.Abrupt() {
		return fmt.Errorf("%w (%w)", err, *x)
	}
	return err
}

// Exits tells how ranks have ended so far, in order.
func (p *Processes) Exits() []launch.Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]launch.Exit(nil), p.exits...)
}

// Ranks are the processes.
func (p *Processes) Ranks() *launch.Ranks { return p.ranks }

// Close ends the job and its processes. It returns when none is left; the error
// names those that could not be ended.
func (p *Processes) Close() error {
	p.Client.Close()
	return p.end()
}

func (p *Processes) end() error {
	p.close.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		if p.err = p.ranks.Close(ctx); p.err == nil {
			<-p.ended
		}
	})
	return p.err
}

// Attend is what a process that [Start] started does: it is a rank until the job
// ends. The error says why a job failed.
func Attend(r *launch.Rank, tasks map[string]serve.Task) error { return attend(r, tasks, Join) }

// joining is the form of [Join].
type joining func(context.Context, *launch.Rank, Spec, map[string]serve.Task) (*serve.Local, error)

func attend(r *launch.Rank, tasks map[string]serve.Task, join joining) error {
	var s Spec
	if err := json.Unmarshal(r.Payload, &s); err != nil {
		return fmt.Errorf("the description of the job: %w", err)
	}
	ctx := r.Context()
	if r.Job.Rank != 0 {
		_, err := join(ctx, r, s, tasks)
		if err = unlessStopped(ctx, err); err != nil {
			serve.Refuse(context.WithoutCancel(ctx), r, err)
		}
		return err
	}
	started := serve.Starting(ctx, r)
	l, err := join(serve.Showing(ctx, r), r, s, tasks)
	started()
	if err = unlessStopped(ctx, err); err != nil {
		serve.Refuse(context.WithoutCancel(ctx), r, err)
	}
	if l == nil {
		return err
	}
	err = serve.Serve(ctx, r, l)
	if errors.Is(err, launch.ErrStopped) {
		err = nil
	}
	return errors.Join(err, l.Close())
}

// unlessStopped is an error, but for what follows from the wish that a rank stops.
func unlessStopped(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), launch.ErrStopped) {
		return nil
	}
	return err
}
