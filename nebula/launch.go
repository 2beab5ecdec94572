package nebula

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/nebula/job"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
)

// jobs are those of this process.
var jobs = registry{byName: map[string]*slot{}}

type registry struct {
	mu     sync.Mutex
	byName map[string]*slot
}

// slot is the place of the one job of a name.
type slot struct {
	turn chan struct{} // holds a token while a job starts
	job  *Job          // guarded by the registry
}

// take waits until no other job of the name starts and closes the one there is.
func (r *registry) take(ctx context.Context, name string) (*slot, error) {
	r.mu.Lock()
	s := r.byName[name]
	if s == nil {
		s = &slot{turn: make(chan struct{}, 1)}
		r.byName[name] = s
	}
	r.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	r.mu.Lock()
	old := s.job
	r.mu.Unlock()
	if old != nil {
		if err := old.Close(); err != nil {
			<-s.turn
			return nil, fmt.Errorf("the earlier job: %w", err)
		}
	}
	return s, nil
}

func (r *registry) set(s *slot, j *Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.job = j
}

// drop forgets a job that is closed.
func (r *registry) drop(j *Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.byName[j.o.name]; s != nil && s.job == j {
		s.job = nil
	}
}

// Jobs are those of this process that are not closed, in the order of their names.
func Jobs() []*Job {
	jobs.mu.Lock()
	defer jobs.mu.Unlock()
	var list []*Job
	for _, name := range slices.Sorted(maps.Keys(jobs.byName)) {
		if j := jobs.byName[name].job; j != nil {
			list = append(list, j)
		}
	}
	return list
}

// CloseAll closes all jobs of this process.
func CloseAll() error {
	list := Jobs()
	errs := make([]error, len(list))
	each(len(list), func(i int) { errs[i] = list[i].Close() })
	return errors.Join(errs...)
}

// Launch is [Start] for a cell: it panics with the error.
func Launch(m *Model, opts ...Option) *Job {
	j, err := Start(forge.Context(), m, opts...)
	return must("Launch", j, err)
}

// Start starts a job and returns when its ranks are ready; ctx bounds the start
// alone. A job of the same name is closed first.
func Start(ctx context.Context, m *Model, opts ...Option) (*Job, error) {
	o, err := newOptions(m, opts)
	if err != nil {
		return nil, err
	}
	ctx, done := withCell(ctx)
	defer done()
	s, err := jobs.take(ctx, o.name)
	if err != nil {
		return nil, err
	}
	defer func() { <-s.turn }()
	ranks := o.Layout.Ranks() * o.replicas
	meter := display.Progress(ctx, fmt.Sprintf("starting %s", display.Count(ranks, "rank")), 0)
	j, err := start(ctx, m, o)
	if err != nil {
		err = reason(ctx, err)
		meter.Fail(err)
		return nil, err
	}
	meter.Done()
	jobs.set(s, j)
	return j, nil
}

// start starts all replicas of a job, or none.
func start(ctx context.Context, m *Model, o options) (*Job, error) {
	j := newJob(m, o)
	if o.Spec.Threads == 0 { // as a launcher's ranks on one host
		here := launch.Job{LocalSize: j.Ranks()}
		var err error
		if j.o.Spec.Threads, _, err = here.Threads(os.LookupEnv, launch.CoresHere(os.DirFS("/"))); err != nil {
			return nil, err
		}
	}
	errs := make([]error, o.replicas)
	each(o.replicas, func(i int) {
		one := j.o
		one.Spec.Device = i * one.Layout.Ranks() // on GPUs, replicas follow one another
		j.replicas[i], errs[i] = one.start(ctx, m)
	})
	// The last has a reason whenever another has one: replicas are alike, but for GPUs,
	// of which it needs the most.
	err := cmp.Or(errs[o.replicas-1], cmp.Or(errs...))
	if err == nil {
		err = j.route()
	}
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// start starts one set of ranks.
func (o options) start(ctx context.Context, m *Model) (replica, error) {
	if o.inProcess || o.Layout.Ranks() == 1 {
		l, err := job.Local(ctx, m.decoder, o.Spec, nil)
		if err != nil {
			return nil, err // not a nil *serve.Local
		}
		return &local{l}, nil
	}
	p, err := job.Start(ctx, m.decoder, o.Spec)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// replica is one set of ranks.
type replica interface {
	serve.Service
	sched.Replica
}

// local is a set of ranks in this process.
type local struct{ *serve.Local }

// Close does not repeat why the engine had failed: that was the requests' to hear.
func (l *local) Close() error {
	l.Local.Close()
	return nil
}

// each calls f for 0 to n-1 at once and waits.
func each(n int, f func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { f(i) })
	}
	group.Wait()
}
