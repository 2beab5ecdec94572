package shell

import (
	"sync"
	"time"
)

// Job is a command that runs in the background.
type Job struct {
	Number  int
	PID     int
	Line    string // as it was typed
	Started time.Time
	proc    *process
}

// Running reports whether the job has not ended; otherwise err is how it did.
func (j *Job) Running() (running bool, err error) {
	select {
	case <-j.proc.ended:
		return false, j.proc.err
	default:
		return true, nil
	}
}

// Jobs are the background commands of a session. The zero value has none.
type Jobs struct {
	mu   sync.Mutex
	last int
	list []*Job
}

// Start runs c in the background under the given name.
func (js *Jobs) Start(c Command, line string) (*Job, error) {
	p, err := c.start()
	if err != nil {
		return nil, err
	}
	js.mu.Lock()
	defer js.mu.Unlock()
	js.last++
	j := &Job{Number: js.last, PID: p.pid, Line: line, Started: time.Now(), proc: p}
	js.list = append(js.list, j)
	return j, nil
}

// List returns the jobs that run and, once each, those that have ended since
// the last call, in order of their numbers.
func (js *Jobs) List() []*Job {
	js.mu.Lock()
	defer js.mu.Unlock()
	list := js.list
	js.list = nil
	for _, j := range list {
		if running, _ := j.Running(); running {
			js.list = append(js.list, j)
		}
	}
	return list
}

// Kill ends every job that runs.
func (js *Jobs) Kill() {
	for _, j := range js.List() {
		if running, _ := j.Running(); running {
			j.proc.kill()
		}
	}
}
