package nebula

import (
	"context"
	"slices"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/nebula/sched"
)

// Step is what one step of a job computed: which tokens of which requests, and who
// waited.
type Step struct {
	Replica int
	sched.Step
}

// Steps are steps of a job, in order.
type Steps struct {
	List   []Step
	Blocks int // of the cache of a replica
}

// Steps are the latest steps of the job, up to 256 of each replica. It panics with the
// error; [Job.StepLog] returns it.
func (j *Job) Steps() *Steps {
	s, err := j.StepLog(forge.Context())
	return must("Steps", s, err)
}

// StepLog is what the latest steps of the job computed, replica by replica.
func (j *Job) StepLog(ctx context.Context) (*Steps, error) {
	ctx, done := withCell(ctx)
	defer done()
	list := j.running()
	if list == nil {
		return nil, j.failed(ErrClosed)
	}
	out := &Steps{Blocks: list[0].Info().Blocks}
	for i, r := range list {
		steps, err := r.Steps(ctx)
		if err != nil {
			return nil, j.failed(reason(ctx, err))
		}
		for _, s := range steps {
			out.List = append(out.List, Step{i, s})
		}
	}
	return out, nil
}

// Since are the steps behind the first n of each replica: with the Steps of a status,
// those of one cell.
func (s *Steps) Since(n uint64) *Steps {
	out := *s
	out.List = slices.DeleteFunc(slices.Clone(s.List), func(x Step) bool { return x.Number <= n })
	return &out
}

// Table lists the steps: tokens of prompts that were computed, requests that got their
// next token, requests that waited, and blocks of the cache in use.
func (s *Steps) Table() display.Table {
	t := display.Table{Columns: []display.Column{{Name: "step"}, {Name: "requests"}, {Name: "prompts", Unit: "tokens"}, {Name: "next tokens"}, {Name: "waiting"}, {Name: "blocks"}, {Name: "took", Unit: "ms"}}}
	for _, x := range s.List {
		prompts, next := 0, 0
		for _, p := range x.Parts {
			if p.Prompt {
				prompts += p.Tokens
			}
			if p.Next {
				next++
			}
		}
		t.Rows = append(t.Rows, []any{x.Number, len(x.Parts), prompts, next, len(x.Waiting), x.Used, milliseconds(x.Took)})
	}
	if s.replicas() > 1 {
		t.Columns = slices.Insert(t.Columns, 0, display.Column{Name: "replica"})
		for i, x := range s.List {
			t.Rows[i] = slices.Insert(t.Rows[i], 0, any(x.Replica))
		}
	}
	return t
}

func (s *Steps) replicas() int {
	n := 0
	for _, x := range s.List {
		n = max(n, x.Replica+1)
	}
	return n
}
