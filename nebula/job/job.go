// Package job puts the parts of a running decoder together: ranks that were
// started somehow, what connects them, an engine over them, and a scheduler that
// drives it.
//
// A [Spec] says what a job is. There are three ways to run one, and all give a
// [serve.Service]:
//
//   - [Start]: every rank is a process that this one starts, rank 0 among them,
//     so that what a rank holds is free when it exits. This process is a client.
//   - [Join]: a launcher has started this process and the others, and every one
//     calls Join. Rank 0 gets the service, the others work until it is closed.
//   - [Local]: ranks are goroutines of this process.
//
// A job is there when the programs are compiled that one request needs, or as many at
// once as Engine.Ready of the spec says; what is shown meanwhile goes to the context's
// sink. Programs for more requests are compiled when these first come together.
//
// A job whose engine fails is over: the ranks exit, and the service keeps the
// cause.
package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"forgekernel/forge"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/model"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
	"forgekernel/nebula/shard"
)

// DefaultAssembly is how long the ranks may take to find one another.
const DefaultAssembly = time.Minute

// Spec is what all ranks of a job agree on.
type Spec struct {
	Model  string // [model.Model.Ref]
	Layout shard.Layout
	Engine engine.Options
	// Threads of each rank; 0 is a fair share of the host's cores.
	Threads int
	// Backend compiles the programs of all ranks, by a name of [forgekernel/forge]:
	// "cpu", "portable", "interp"; empty is native code where there is a compiler.
	// "cuda" gives each rank a GPU: that of its number among the ranks of its host, counted
	// from Device on.
	Backend  string
	Device   int           // the GPU of the first rank of a host; other jobs have those before it
	Deadline time.Duration // see [engine.Member]; 0 is [engine.DefaultDeadline]
	Assembly time.Duration // 0 is [DefaultAssembly]

	Limit     int           // see sched.Options
	Chunk     int           // see sched.Options
	Full      sched.Full    // see sched.Options
	NoSharing bool          // see sched.Options
	Window    time.Duration // above 0: batches of equal length, see sched.EqualLength
}

// scheduling are the options of the scheduler, which has the threads of rank 0.
func (s Spec) scheduling(threads int) sched.Options {
	o := sched.Options{Limit: s.Limit, Chunk: s.Chunk, Full: s.Full, NoSharing: s.NoSharing, Salt: s.Model, Threads: threads}
	if s.Window > 0 {
		o.Batching = sched.EqualLength{Window: s.Window}
	}
	return o
}

// engine are the options of the engine. It is ready at least for one request, as the
// scheduler sends it: in small chunks where several steps are in flight.
func (s Spec) engine() engine.Options {
	o := s.Engine
	o.Ready.Rows = max(1, o.Ready.Rows)
	if o.Ready.Tokens == 0 && s.Layout.PP > 1 {
		o.Ready.Tokens = cmp.Or(s.Chunk, sched.DefaultChunk)
	}
	return o
}

func (s Spec) deadline() time.Duration { return cmp.Or(s.Deadline, engine.DefaultDeadline) }
func (s Spec) assembly() time.Duration { return cmp.Or(s.Assembly, DefaultAssembly) }

// leastDeadline is more than the system's own delays.
const leastDeadline = 10 * time.Millisecond

// Check says what is wrong with a spec for a model, before anything is started.
func (s Spec) Check(m *model.Model) error {
	if err := s.Layout.Check(m.Config.Dims()); err != nil {
		return err
	}
	switch {
	case s.Threads < 0 || s.Threads > forge.MaxThreads:
		return fmt.Errorf("threads of a rank: %d; it must be 1 to %d, or 0 for a fair share", s.Threads, forge.MaxThreads)
	case s.Deadline != 0 && s.Deadline < leastDeadline:
		return fmt.Errorf("the deadline: %v; it must be at least %v, or 0 for %v", s.Deadline, leastDeadline, engine.DefaultDeadline)
	case s.Assembly < 0:
		return fmt.Errorf("the time to assemble: %v; it cannot be negative", s.Assembly)
	case s.Engine.Context == 1:
		return fmt.Errorf("the context: 1; it must be 2 to %d, for a token and the next one", m.Config.Context)
	}
	if err := s.Engine.Check(s.Layout, m.Config); err != nil {
		return err
	}
	if s.Backend == cudaBackend {
		return s.checkDevices(1)
	}
	_, err := s.backend(1, 0)
	return err
}

// digest tells specs apart: ranks with different ones do not form a mesh.
func (s Spec) digest() []byte {
	raw, _ := json.Marshal(s) // of plain fields
	sum := sha256.Sum256(raw)
	return sum[:]
}

// Local runs the ranks of a job as goroutines.
func Local(ctx context.Context, m *model.Model, s Spec, tasks map[string]serve.Task) (*serve.Local, error) {
	if err := s.Check(m); err != nil {
		return nil, err
	}
	if err := s.FitsHere(m, s.Layout.Places()...); err != nil {
		return nil, err
	}
	threads := s.Threads
	if threads == 0 {
		threads = max(1, launch.CoresHere(os.DirFS("/")).Own/s.Layout.Ranks())
	}
	list, err := s.backends(threads)
	if err != nil {
		return nil, err
	}
	e, err := engine.Local(ctx, m, s.Layout, engine.LocalOptions{Options: s.engine(), Backends: list, Threads: threads, Deadline: s.Deadline})
	if err != nil {
		return nil, err
	}
	l, err := serve.NewLocal(e, s.scheduling(threads), tasks)
	if err != nil {
		e.Close()
		return nil, err
	}
	return l, nil
}
