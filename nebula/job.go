package nebula

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"forgekernel/forge"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
	"forgekernel/nebula/shard"
)

// Job is a set of ranks that run a model. It is safe for concurrent use.
type Job struct {
	model  *Model
	o      options
	router *sched.Router

	mu       sync.Mutex
	replicas []replica // nil when the job is closed
	held     []int64   // bytes of the cache of each rank, once known
	last     *Status   // of a closed job
	closing  sync.Once
	ended    atomic.Bool // Close was called
	closed   error
}

// Model is what the job runs.
func (j *Job) Model() *Model { return j.model }

// Name is the name of the job; "" unless [Name] said otherwise.
func (j *Job) Name() string { return j.o.name }

// Ranks is how many ranks the job has, those of all replicas.
func (j *Job) Ranks() int { return j.o.Layout.Ranks() * j.o.replicas }

// Services are the sets of ranks of the job, one a replica; none when it is closed.
// Package serve says what can be asked of them.
func (j *Job) Services() []serve.Service {
	list := make([]serve.Service, 0, j.o.replicas)
	for _, r := range j.running() {
		list = append(list, r)
	}
	return list
}

func (j *Job) running() []replica {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.replicas
}

// submit sends a request to a replica.
func (j *Job) submit(ctx context.Context, r sched.Request) (*sched.Stream, error) {
	list := j.running()
	if list == nil {
		return nil, j.failed(ErrClosed)
	}
	if len(list) == 1 { // its error says enough
		stream, err := list[0].Submit(ctx, r)
		return stream, j.failed(err)
	}
	stream, err := j.router.Submit(ctx, r)
	return stream, j.failed(err)
}

// Close ends the requests of the job and its ranks. It returns when none is left;
// the error names those that could not be ended. A second call does nothing more.
func (j *Job) Close() error {
	j.closing.Do(func() {
		j.ended.Store(true)
		last := j.Status()
		last.State = engine.Closed.String()
		list := j.running()
		errs := make([]error, len(list))
		each(len(list), func(i int) {
			if list[i] != nil { // when the start failed
				errs[i] = list[i].Close()
			}
		})
		j.mu.Lock()
		j.replicas, j.last = nil, &last
		j.mu.Unlock()
		j.model.decoder.Release()
		j.closed = j.failed(errors.Join(errs...))
		jobs.drop(j)
	})
	return j.closed
}

// Description is what a rank has and runs: layers, bytes, and compiled programs with
// their graphs.
type Description = engine.Description

// Rank tells what a rank has and runs. It panics when there is no such rank or the
// job has ended; [Job.Describe] returns the error.
func (j *Job) Rank(i int) Description {
	d, err := j.Describe(forge.Context(), i)
	return must("Rank", d, err)
}

// Describe tells what a rank has and runs. The ranks of the second replica follow
// those of the first.
func (j *Job) Describe(ctx context.Context, rank int) (Description, error) {
	ctx, done := withCell(ctx)
	defer done()
	list, n := j.running(), j.o.Layout.Ranks()
	if list == nil {
		return Description{}, j.failed(ErrClosed)
	}
	if rank < 0 || rank >= n*len(list) {
		return Description{}, noRank(rank, n*len(list))
	}
	d, err := list[rank/n].Describe(ctx, rank%n)
	d.Rank = rank
	return d, j.failed(reason(ctx, err))
}

// place is where a rank stands in its replica.
func (j *Job) place(rank int) shard.Place {
	return shard.Place{Layout: j.o.Layout, Rank: rank % j.o.Layout.Ranks()}
}
