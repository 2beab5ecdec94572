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

	mu    sync.Mutex
	exits []launch.Exit
	ended chan struct{} // closed when no process is left
	close sync.Once
	err   error
}

// Start starts the ranks of a job and returns when they are ready. ctx bounds
// the start alone.
func Start(ctx context.Context, m *model.Model, s Spec) (*Processes, error) {
	if s.Model == "" {
		s.Model = m.Ref()
	}
	if err := s.Check(m); err != nil {
		return nil, err
	}
	payload, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	ranks, err := launch.Start(ctx, launch.Spec{Ranks: s.Layout.Ranks(), Command: Command, Payload: payload, Grace: grace})
	if err != nil {
		return nil, err
	}
	p := &Processes{ranks: ranks, ended: make(chan struct{})}
	go p.collect()
	p.Client, err = serve.Dial(ctx, serve.Parent(ranks.Channel(0)), s.deadline(), p.why)
	if err != nil {
		p.end()
		return nil, p.blame(err)
	}
	go func() { // nothing of a job that is over stays
		<-p.Client.Over()
		p.end()
	}()
	return p, nil
}

// collect notes how ranks end.
func (p *Processes) collect() {
	for e := range p.ranks.Exits() {
		p.mu.Lock()
		p.exits = append(p.exits, e)
		p.mu.Unlock()
	}
	close(p.ended)
}

// why is what is known of the end of rank 0, whose channel has just ended.
func (p *Processes) why() error {
	limit := time.After(collecting)
	for over := false; ; {
		for _, e := range p.Exits() {
			if e.Rank == 0 {
				return e
			}
		}
		if over {
			return nil
		}
		select {
		case <-p.ended:
			over = true
		case <-limit:
			over = true
		case <-time.After(time.Millisecond):
		}
	}
}

// blame adds to the failure of a start what the ranks said before they ended.
func (p *Processes) blame(err error) error {
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		for _, x := range p.Exits() {
			if x.Rank == e.Rank && x.Signal != 0 {
				return fmt.Errorf("%w (%w)", err, x)
			}
		}
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
		p.err = p.ranks.Close(ctx)
	})
	return p.err
}

// Attend is what a process that [Start] started does: it is a rank until the job
// ends. The error says why a job failed.
func Attend(r *launch.Rank, tasks map[string]serve.Task) error {
	var s Spec
	if err := json.Unmarshal(r.Payload, &s); err != nil {
		return fmt.Errorf("the description of the job: %w", err)
	}
	ctx := r.Context()
	l, err := Join(ctx, r, s, tasks)
	if errors.Is(context.Cause(ctx), launch.ErrStopped) {
		err = nil
	}
	switch {
	case l == nil && (r.Job.Rank != 0 || err == nil):
		return err
	case err != nil:
		serve.Refuse(context.WithoutCancel(ctx), r, err)
		return err
	}
	err = serve.Serve(ctx, r, l)
	if errors.Is(err, launch.ErrStopped) {
		err = nil
	}
	return errors.Join(err, l.Close())
}
