package nebula

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/shard"
)

// Step is what one step of a job computed: which tokens of which requests, and who
// waited.
type Step struct {
	Replica int
	sched.Step
}

// Steps are steps of a job, in order.
type Steps struct {
	List []Step
	// Blocks of the cache of a replica, and the bytes of one on all of its ranks.
	Blocks     int
	BlockBytes int64
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
	info, e := list[0].Info(), j.o.Engine
	out := &Steps{Blocks: info.Blocks, BlockBytes: j.model.Config().CacheBytes(shard.Single(), 1, info.BlockSize, e.DType)}
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

// Display shows a lane for each request, with its part of each step, and as text the
// table.
func (s *Steps) Display() display.Bundle {
	b := s.Timeline().Display()
	b.Data["text/plain"] = s.Table().Text()
	return b
}

// lane is a request of a replica.
type lane struct {
	replica int
	request uint64
}

// Timeline draws steps from left to right and a lane for each request. What a request
// computes of its prompt, the tokens that it generates and the steps that it waits for
// differ in colour; below is how much of the cache requests hold. Steps of several
// replicas that have one number are not at one time.
func (s *Steps) Timeline() display.Timeline {
	t := display.Timeline{
		Title: "What each step computed",
		Names: map[display.Class]string{classPrompt: "tokens of the prompt", classNext: "the next token", classWaiting: "waiting"},
	}
	if len(s.List) == 0 {
		return t
	}
	first, last := s.List[0].Number, s.List[0].Number
	for _, x := range s.List {
		first, last = min(first, x.Number), max(last, x.Number)
	}
	for n := first; n <= last; n++ {
		t.Steps = append(t.Steps, fmt.Sprint(n))
	}
	lanes := s.lanes()
	for _, l := range lanes {
		name := fmt.Sprintf("request %d", l.request)
		if s.replicas() > 1 {
			name = fmt.Sprintf("replica %d, %s", l.replica, name)
		}
		t.Lanes = append(t.Lanes, display.Lane{Name: name, Rows: 1})
	}
	t.Level = make([]int64, len(t.Steps))
	for _, x := range s.List {
		column := int(x.Number - first)
		t.Level[column] += int64(x.Used) * s.BlockBytes
		add := func(request uint64, c display.Class, label, tooltip string) {
			i := slices.Index(lanes, lane{x.Replica, request})
			t.Bars = append(t.Bars, display.Bar{Lane: i, Bytes: 1, Start: float64(column), End: float64(column + 1), Class: c, Label: label, Tooltip: tooltip})
		}
		for _, id := range x.Waiting {
			add(id, classWaiting, "", fmt.Sprintf("step %d: waiting", x.Number))
		}
		for _, p := range x.Parts {
			add(p.Request, classOf(p), fmt.Sprint(p.Tokens), fmt.Sprintf("step %d: %s from position %d", x.Number, plural(p.Tokens, "token"), p.Pos))
		}
	}
	t.Marks = []display.Mark{{Bytes: int64(s.Blocks) * int64(s.replicas()) * s.BlockBytes, Label: "cache"}}
	return t
}

// The colours of a request's steps.
const (
	classPrompt  = display.ClassContraction
	classNext    = display.ClassElementwise
	classWaiting = display.ClassMovement
)

func classOf(p sched.Part) display.Class {
	if p.Prompt {
		return classPrompt
	}
	return classNext
}

// lanes are the requests of the steps.
func (s *Steps) lanes() []lane {
	seen := make(map[lane]bool)
	var list []lane
	note := func(replica int, request uint64) {
		if l := (lane{replica, request}); !seen[l] {
			seen[l] = true
			list = append(list, l)
		}
	}
	for _, x := range s.List {
		for _, p := range x.Parts {
			note(x.Replica, p.Request)
		}
		for _, id := range x.Waiting {
			note(x.Replica, id)
		}
	}
	slices.SortFunc(list, func(a, b lane) int { return cmp.Or(a.replica-b.replica, cmp.Compare(a.request, b.request)) })
	return list
}
