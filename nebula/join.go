package nebula

import (
	"context"
	"errors"

	"forgekernel/nebula/job"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
)

// Join makes this process a rank of a job whose ranks a launcher has started, all with
// the same options. On rank 0 it returns the job when all ranks are ready; on the
// others it returns nil when the job has ended, and the error is why it failed.
func Join(ctx context.Context, r *launch.Rank, m *Model, opts ...Option) (*Job, error) {
	o, err := newOptions(m, opts)
	if err == nil && (o.replicas > 1 || o.inProcess) {
		err = errors.New("a launcher's ranks are one set of processes: neither nebula.Replicas nor nebula.InProcess fits")
	}
	if err != nil {
		return nil, err
	}
	s, err := jobs.take(ctx, o.name)
	if err != nil {
		return nil, err
	}
	defer func() { <-s.turn }()
	l, err := job.Join(ctx, r, o.Spec, nil)
	if l == nil || err != nil {
		return nil, err
	}
	j := newJob(m, o)
	j.replicas[0] = &local{l}
	if err := j.route(); err != nil {
		j.Close()
		return nil, err
	}
	jobs.set(s, j)
	return j, nil
}

// Joined is the job of a service that [job.Join] or [job.Local] gave to one who needs its
// engine, too; spec is what its ranks agreed on. Closing the job closes the service. It
// is none of those that have a name.
func Joined(m *Model, spec job.Spec, s *serve.Local) (*Job, error) {
	j := newJob(m, options{Spec: spec, replicas: 1})
	j.replicas[0] = &local{s}
	return j, j.route()
}

func newJob(m *Model, o options) *Job {
	return &Job{model: m, o: o, replicas: make([]replica, o.replicas)}
}

// route makes the router over the replicas.
func (j *Job) route() (err error) {
	list := make([]sched.Replica, len(j.replicas))
	for i, r := range j.replicas {
		list[i] = r
	}
	j.router, err = sched.NewRouter(j.o.affinity, list...)
	return err
}
