package front

import "context"

// maxJobs is how many messages may wait for a worker; more of them stop the
// socket they come from.
const maxJobs = 4096

// worker does one job after another, which keeps their order.
type worker chan func()

func newWorker() worker { return make(worker, maxJobs) }

// queue hands a job to the worker.
func (w worker) queue(ctx context.Context, job func()) {
	select {
	case w <- job:
	case <-ctx.Done():
	}
}

func (w worker) work(ctx context.Context) {
	for {
		select {
		case job := <-w:
			job()
		case <-ctx.Done():
			return
		}
	}
}
