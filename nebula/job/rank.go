package job

import (
	"context"
	"errors"
	"fmt"
	"os"

	"forgekernel/nebula/collective"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/mesh"
	"forgekernel/nebula/model"
	"forgekernel/nebula/serve"
	"forgekernel/nebula/shard"
)

// What a rank was doing when it failed before the engine was there, in an
// [engine.Error].
const (
	opOpen       = "open"       // its model
	opRendezvous = "rendezvous" // find the others
)

// rank is this process on its way into a job: it opens what it needs for itself,
// meets the others, and works.
type rank struct {
	place  *launch.Rank
	spec   Spec
	config mesh.Config
	member engine.Member
	links  []engine.Link // on rank 0 to each rank; elsewhere the only one is to rank 0
	mesh   *mesh.Mesh
}

// Join makes this process a rank of a job. On rank 0 it returns when all ranks
// are ready; closing the result ends the job. On other ranks it returns nil when
// the job has ended; the error is the cause if it failed.
func Join(ctx context.Context, r *launch.Rank, s Spec, tasks map[string]serve.Task) (*serve.Local, error) {
	w, err := open(r, s)
	if err != nil {
		return nil, err
	}
	if err := w.meet(ctx); err != nil {
		return nil, err
	}
	return w.work(ctx, tasks)
}

// open does what takes no other rank.
func open(r *launch.Rank, s Spec) (*rank, error) {
	w := &rank{place: r, spec: s}
	if err := w.open(); err != nil {
		w.close()
		return nil, w.failed(r.Job.Rank, opOpen, err)
	}
	return w, nil
}

func (w *rank) open() (err error) {
	job, s := w.place.Job, w.spec
	w.member = engine.Member{Place: shard.Place{Layout: s.Layout, Rank: job.Rank}, Deadline: s.Deadline, Threads: s.Threads}
	if w.member.Model, err = model.OpenRef(s.Model); err != nil {
		return err
	}
	if err := s.Check(w.member.Model); err != nil {
		return err
	}
	if job.Size != s.Layout.Ranks() {
		return fmt.Errorf("%v has %d ranks; %s started %d", s.Layout, s.Layout.Ranks(), job.Launcher, job.Size)
	}
	if err := s.FitsHere(w.member.Model, w.member.Place); err != nil {
		return err
	}
	root := os.DirFS("/")
	cores := launch.CoresHere(root)
	if s.Threads == 0 {
		if w.member.Threads, _, err = job.Threads(os.LookupEnv, cores); err != nil {
			return err
		}
	}
	if s.Layout.PP == 1 { // of several stages the first has to do with one step while it computes another, where there is room
		if _, err := job.Bind(w.member.Threads, cores, root); err != nil {
			return err
		}
	}
	if w.member.Backend, err = s.backend(w.member.Threads, job.LocalRank); err != nil {
		return err
	}
	if err := s.preflight(job.LocalRank); err != nil {
		return err
	}
	host, err := job.Host()
	w.config = mesh.Config{
		Job: job.ID, Token: []byte(w.place.Token), Epoch: job.Epoch, Rank: job.Rank, Size: job.Size, Address: host, Digest: s.digest(),
	}
	return err
}

// meet finds the other ranks.
func (w *rank) meet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.spec.assembly(), context.DeadlineExceeded)
	defer cancel()
	var err error
	if w.mesh, err = mesh.Join(ctx, w.config); err == nil {
		w.member.World, err = collective.Over(w.mesh, collective.Options{Timeout: w.spec.deadline() * 3 / 4})
	}
	if err != nil {
		w.close()
		return w.failed(absent(w.place.Job.Rank, err), opRendezvous, err)
	}
	if w.place.Job.Rank != 0 {
		w.links = []engine.Link{w.mesh.Command(0)}
		return nil
	}
	w.links = make([]engine.Link, w.place.Job.Size)
	for i := 1; i < len(w.links); i++ {
		w.links[i] = w.mesh.Command(i)
	}
	return nil
}

// work is what Join does with a rank that has met the others.
func (w *rank) work(ctx context.Context, tasks map[string]serve.Task) (*serve.Local, error) {
	if w.place.Job.Rank != 0 {
		defer w.close()
		return nil, engine.Serve(ctx, w.member, w.links[0])
	}
	e, err := engine.Lead(ctx, w.member, w.links, w.spec.engine())
	if err != nil {
		w.close()
		return nil, err
	}
	l, err := serve.NewLocal(e, w.spec.scheduling(w.member.Threads), tasks)
	if err != nil {
		e.Close()
		w.close()
		return nil, err
	}
	l.OnClose(w.close)
	return l, nil
}

// close gives up what there is.
func (w *rank) close() {
	if w.member.World != nil {
		w.member.World.Close()
	}
	if w.mesh != nil {
		w.mesh.Close()
	}
	if w.member.Model != nil {
		w.member.Model.Close()
	}
}

// failed is the failure of a rank that has no engine.
func (w *rank) failed(rank int, op string, err error) error {
	return &engine.Error{Rank: rank, Epoch: w.place.Job.Epoch, Op: op, Err: err}
}

// absent is the rank because of which a rendezvous has failed: where nobody else
// is known to be the reason, that on which it was seen.
func absent(here int, err error) int {
	var lost *mesh.Lost
	var missing *mesh.Missing
	var misfit *mesh.Misfit
	var in *collective.Error
	switch {
	case errors.As(err, &missing):
		return missing.Ranks[0]
	case errors.As(err, &misfit):
		return misfit.Rank
	case errors.As(err, &lost):
		return lost.Rank
	case errors.As(err, &in) && in.Peer >= 0:
		return in.Peer
	}
	return here
}
