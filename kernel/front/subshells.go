package front

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"forgekernel/kernel/wire"

	"github.com/google/uuid"
)

// maxSubshells bounds the subshells that exist at one time.
const maxSubshells = 64

// subshells are the queues of a kernel (JEP 91): the main shell and those that
// clients made. Cells of different queues run at the same time in the one
// session.
type subshells struct {
	mu    sync.Mutex
	main  *queue
	other map[string]*queue
	order []string
}

// find returns the queue that a header names; empty is the main shell.
func (s *subshells) find(id string) (*queue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		return s.main, nil
	}
	if q, ok := s.other[id]; ok {
		return q, nil
	}
	return nil, noSubshell(id)
}

func noSubshell(id string) error {
	return &failure{"SubshellNotFound", fmt.Sprintf("there is no subshell %q", validPrefix(id, 64))}
}

// all returns every queue.
func (s *subshells) all() []*queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	queues := []*queue{s.main}
	for _, q := range s.other {
		queues = append(queues, q)
	}
	return queues
}

func (f *front) createSubshell(ctx context.Context, _ *request) (any, error) {
	<-f.history.opened
	s := &f.subshells
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.other) >= maxSubshells {
		return nil, &failure{"TooManySubshells", fmt.Sprintf("there are %d subshells already", maxSubshells)}
	}
	id := uuid.NewString()
	q := newQueue(f, id)
	var err error
	if q.session, err = f.history.newSession(); err != nil {
		return nil, err
	}
	s.other[id] = q
	s.order = append(s.order, id)
	f.workers.Go(func() { q.loop(ctx) })
	return wire.CreateSubshellReply{Status: wire.StatusOK, SubshellID: id}, nil
}

// deleteSubshell takes no more cells for a subshell. The one that runs goes on;
// those that wait are aborted.
func (f *front) deleteSubshell(_ context.Context, r *request) (any, error) {
	var content wire.DeleteSubshellRequest
	if err := r.Decode(&content); err != nil {
		return nil, err
	}
	if content.SubshellID == "" {
		return nil, &failure{"SubshellNotFound", "the main shell cannot be deleted"}
	}
	q, err := f.subshells.find(content.SubshellID)
	if err != nil {
		return nil, err
	}
	s := &f.subshells
	s.mu.Lock()
	delete(s.other, q.id)
	s.order = slices.DeleteFunc(s.order, func(id string) bool { return id == q.id })
	s.mu.Unlock()
	q.close("its subshell was deleted")
	return wire.StatusReply{Status: wire.StatusOK}, nil
}

func (f *front) listSubshells(context.Context, *request) (any, error) {
	f.subshells.mu.Lock()
	defer f.subshells.mu.Unlock()
	return wire.ListSubshellReply{Status: wire.StatusOK, SubshellIDs: slices.Clone(f.subshells.order)}, nil
}
