package bench

import (
	"context"
	"time"

	"forgekernel/nebula/sample"
	"forgekernel/nebula/sched"
)

// serve gives a whole batch to a scheduler of its own, whose cache is empty, and
// returns the time from the first submission to the last token. What watch sees costs
// time.
func (r *run) serve(ctx context.Context, size int, o sched.Options, watch func(*sched.Scheduler)) (time.Duration, error) {
	o.Limit = size
	s, err := sched.New(r.subject.Engine, o)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	streams := make([]*sched.Stream, size)
	start := time.Now()
	for i := range streams {
		req := sched.Request{Prompt: r.prompts[i], Params: sample.Params{MaxTokens: r.o.New}}
		if streams[i], err = s.Submit(ctx, req); err != nil {
			return 0, err
		}
	}
	for _, stream := range streams {
		for {
			e, err := stream.Next(ctx)
			if err != nil {
				return 0, err
			}
			if e.Finish == nil {
				watch(s)
				continue
			}
			if e.Finish.Err != nil {
				return 0, e.Finish.Err
			}
			break
		}
	}
	return time.Since(start), nil
}

// count is what the scheduler has the engine do for a batch.
func (r *run) count(ctx context.Context, size int, o sched.Options) (w Work, err error) {
	blocks := 0
	_, err = r.serve(ctx, size, o, func(s *sched.Scheduler) {
		m := s.Metrics()
		w.Prompt, blocks = int(m.Prompt), max(blocks, m.KV.Used)
	})
	w.KV = int64(blocks) * r.block
	return w, err
}
