package nebula

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forgekernel/nebula/engine"
	"forgekernel/nebula/job"
	"forgekernel/nebula/serve"
)

// Status is what a job is doing, at one time.
type Status struct {
	Job    string // its name
	Model  string
	Layout string // "TP 2, PP 1", of each replica
	State  string // "healthy", "failed" or "closed"; that of the worst replica
	Err    error  // why it failed
	// Threads of each rank.
	Threads int

	Queued, Running int           // requests
	Rate            float64       // tokens a second, lately
	StepTime        time.Duration // of a replica, the median of its last steps
	Steps           uint64
	Prompt          uint64 // tokens of prompts that were computed
	Generated       uint64 // tokens
	KV              KVStatus
	Ranks           []RankStatus
}

// KVStatus counts the blocks of the cache of all replicas.
type KVStatus struct {
	BlockSize int // tokens of a block
	Blocks    int
	Used      int // by requests
	Shared    int // of these, by several
	Cached    int // by none, kept for prompts that begin alike
	Free      int
}

// RankStatus is what a rank is doing.
type RankStatus struct {
	Rank, Replica, Stage, TPRank int

	PID   int    // of its process; 0 when it is a part of this one
	State string // "starting", "idle", "running", "failed", "closed", "gone"
	Step  uint64 // the last one that it began
	Last  string // its last collective
	Seen  time.Time

	KVUsed    int64 // bytes of the blocks that requests have
	KVPlanned int64 // bytes: 2 * layers * blocks * block size * KV heads * head dim * element
	KVHeld    int64 // bytes of the tensors that there are; 0 when it has not said
	Exit      error // how its process ended; nil while it runs
}

// statusTime bounds what is waited for ranks to tell.
const statusTime = 2 * time.Second

// Status is what the job is doing. It does not wait for work, and not long for a rank
// that does not answer.
func (j *Job) Status() Status {
	ctx, cancel := context.WithTimeout(context.Background(), statusTime)
	defer cancel()
	j.mu.Lock()
	list, last := j.replicas, j.last
	j.mu.Unlock()
	if last != nil {
		return *last
	}
	s := Status{Job: j.o.name, Model: j.model.Name(), Layout: j.o.Layout.String(), Threads: j.o.Spec.Threads, State: engine.Healthy.String()}
	for i, r := range list {
		if r == nil { // the start failed
			continue
		}
		state, err := r.State(ctx)
		if err != nil { // it has gone, or does not answer
			state.Engine.Err = err
			if over(r) {
				state.Engine.Health = engine.Failed
			}
		}
		s.add(r.Info(), state)
		s.Ranks = append(s.Ranks, j.rankStatus(ctx, i, r, state)...)
	}
	s.Err = j.failed(s.Err)
	return s
}

func over(s serve.Service) bool {
	select {
	case <-s.Over():
		return true
	default:
		return false
	}
}

// add counts a replica in.
func (s *Status) add(info engine.Info, state serve.State) {
	if state.Engine.Health != engine.Healthy {
		s.State = state.Engine.Health.String()
	}
	s.Err = errors.Join(s.Err, state.Engine.Err)
	m := state.Scheduler
	s.Queued, s.Running = s.Queued+m.Queued, s.Running+m.Running
	s.Rate += m.Rate
	s.StepTime = max(s.StepTime, m.StepTime)
	s.Steps, s.Prompt, s.Generated = s.Steps+m.Steps, s.Prompt+m.Prompt, s.Generated+m.Generated
	s.KV.BlockSize = info.BlockSize
	s.KV.Blocks += info.Blocks
	s.KV.Used, s.KV.Shared = s.KV.Used+m.KV.Used, s.KV.Shared+m.KV.Shared
	s.KV.Cached, s.KV.Free = s.KV.Cached+m.KV.Cached, s.KV.Free+m.KV.Free
}

// rankStatus is that of the ranks of one replica.
func (j *Job) rankStatus(ctx context.Context, index int, r replica, state serve.State) []RankStatus {
	n, info := j.o.Layout.Ranks(), r.Info()
	list := make([]RankStatus, n)
	for i := range list {
		p := j.place(i)
		bytes := func(blocks int) int64 {
			return j.model.Config().CacheBytes(p, blocks, info.BlockSize, j.o.Engine.DType)
		}
		list[i] = RankStatus{
			Rank: index*n + i, Replica: index, Stage: p.Stage(), TPRank: p.TPRank(), State: "gone",
			KVUsed: bytes(state.Scheduler.KV.Used), KVPlanned: bytes(info.Blocks), KVHeld: j.heldBy(ctx, index*n+i, r),
		}
	}
	for _, e := range state.Engine.Ranks {
		if e.Rank >= 0 && e.Rank < n {
			at := &list[e.Rank]
			at.State, at.Step, at.Last, at.Seen = e.State, e.Step, e.Last, e.Seen
		}
	}
	if p, ok := r.(*job.Processes); ok {
		for i := range list {
			list[i].PID = p.Ranks().Process(i).PID
		}
		for _, e := range p.Exits() {
			list[e.Rank].State, list[e.Rank].Exit = "gone", e
		}
	}
	return list
}

// heldBy asks a rank once how many bytes of cache it holds.
func (j *Job) heldBy(ctx context.Context, rank int, r replica) int64 {
	j.mu.Lock()
	if j.held == nil {
		j.held = make([]int64, j.Ranks())
	}
	known := j.held[rank]
	j.mu.Unlock()
	if known > 0 || over(r) {
		return known
	}
	d, err := r.Describe(ctx, rank%j.o.Layout.Ranks())
	if err != nil {
		return 0 // the status says why
	}
	j.mu.Lock()
	j.held[rank] = d.KVHeld
	j.mu.Unlock()
	return d.KVHeld
}

func noRank(rank, n int) error {
	return fmt.Errorf("there is no rank %d; there are ranks 0 to %d", rank, n-1)
}
