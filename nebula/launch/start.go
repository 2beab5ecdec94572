package launch

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"forgekernel/nebula/proc"
)

const (
	// MaxRanks bounds the ranks that one process starts.
	MaxRanks = 1024
	// DefaultGrace is how long each of the two polite steps of Close may take.
	DefaultGrace = 2 * time.Second

	// killTime is how long killed ranks may take to disappear. One that waits for
	// a device may take longer; it is collected when it does end.
	killTime = 5 * time.Second
)

// Spec describes ranks to be started on this host.
type Spec struct {
	Ranks   int           // 1 to [MaxRanks]
	Command []string      // the arguments that make this same binary a rank, which calls [Attach]
	Env     []string      // NAME=value, added to this process's environment
	Dir     string        // working directory; this process's when empty
	Job     string        // names the job, see [Job.ID]; a fresh name when empty
	Epoch   uint32        // counts the starts of a job
	Payload []byte        // for every rank, as [Rank.Payload]; less than [MaxFrame]/2 bytes
	Grace   time.Duration // [DefaultGrace] when 0
	// Stopped is how long a rank may be stopped, as by SIGSTOP, before it is ended; 0 is
	// for ever.
	Stopped time.Duration
}

// assignment is what a rank hears first.
type assignment struct {
	Dir     string `json:"dir"`
	Token   string `json:"token"`
	Payload []byte `json:"payload"`
}

var jobName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (s *Spec) check() error {
	switch {
	case s.Ranks < 1 || s.Ranks > MaxRanks:
		return fmt.Errorf("%d ranks: a job has 1 to %d on one host", s.Ranks, MaxRanks)
	case s.Job != "" && !jobName.MatchString(s.Job):
		return fmt.Errorf("job name %q: it is made of at most 64 letters, digits, '.', '_' and '-'", s.Job)
	case len(s.Payload) >= MaxFrame/2:
		return fmt.Errorf("the payload for ranks has %d bytes; the limit is %d", len(s.Payload), MaxFrame/2)
	case s.Grace < 0:
		return fmt.Errorf("grace %s is negative", s.Grace)
	case s.Stopped < 0:
		return fmt.Errorf("the time for which a rank may be stopped, %s, is negative", s.Stopped)
	}
	return nil
}

// Ranks are the processes of a job. They end with the process that started them,
// however that ends.
type Ranks struct {
	folder Folder
	job    string
	dir    string
	grace  time.Duration
	procs  []*process
	exits  chan Exit
	gone   chan struct{} // closed when all ranks have been collected

	closing sync.Once
	closed  error
}

// Start starts the ranks of a job and hands each its assignment. ctx bounds the
// start alone: the ranks live until [Ranks.Close], or the end of this process.
// Leftovers of earlier jobs are removed first.
func Start(ctx context.Context, spec Spec) (*Ranks, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if spec.Job == "" {
		spec.Job = strings.ToLower(rand.Text()[:12])
	}
	self, err := proc.Self()
	if err != nil {
		return nil, err
	}
	folder, err := OpenFolder()
	if err != nil {
		return nil, err
	}
	folder.Reap() // what cannot be ended stays on record, for "forge nebula ps"
	record := Record{Job: spec.Job, Epoch: spec.Epoch, Parent: self, Command: spec.Command, Ranks: []proc.ID{}}
	dir, err := folder.Create(record)
	if err != nil {
		return nil, err
	}
	r := &Ranks{folder: folder, job: spec.Job, dir: dir, grace: spec.Grace, exits: make(chan Exit, spec.Ranks), gone: make(chan struct{})}
	if r.grace == 0 {
		r.grace = DefaultGrace
	}
	started := make(chan error)
	go r.spawn(spec, started)
	err = <-started
	if err == nil {
		for _, p := range r.procs {
			record.Ranks = append(record.Ranks, p.id)
		}
		err = record.write(dir)
	}
	if err == nil {
		err = r.assign(ctx, spec.Payload)
	}
	if err != nil {
		r.grace = 0
		return nil, errors.Join(err, r.Close(context.Background()))
	}
	return r, nil
}

// spawn starts all ranks from one thread and keeps it until they are gone: the
// parent-death signal is sent at the end of the thread, not of the process.
func (r *Ranks) spawn(spec Spec, started chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	argv := append([]string{os.Args[0]}, spec.Command...)
	var err error
	for rank := range spec.Ranks {
		var p *process
		if p, err = startProcess(rank, argv, environment(spec, rank), spec.Dir, r.dir); err != nil {
			break
		}
		r.procs = append(r.procs, p)
	}
	var waiting sync.WaitGroup
	for _, p := range r.procs {
		waiting.Go(func() { r.exits <- p.wait() })
	}
	if err == nil && spec.Stopped > 0 {
		go r.endStopped(spec.Stopped)
	}
	started <- err
	waiting.Wait()
	close(r.exits)
	close(r.gone)
}

// place are the variables that Start sets for a rank, or that would contradict
// them.
var place = []string{
	"NEBULA_LAUNCHER", "NEBULA_RANK", "NEBULA_SIZE", "NEBULA_LOCAL_RANK", "NEBULA_LOCAL_SIZE",
	"NEBULA_JOB", "NEBULA_EPOCH", "NEBULA_ADDRESS", "NEBULA_SERVICE", "NEBULA_TOKEN", controlVariable,
}

// controlVariable tells a rank that its control channel is descriptor 3.
const (
	controlVariable = "NEBULA_CONTROL"
	controlFD       = 3
)

func environment(spec Spec, rank int) []string {
	_, colab := os.LookupEnv("COLAB_RELEASE_TAG")
	_, kaggle := os.LookupEnv("KAGGLE_KERNEL_RUN_TYPE")
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		// What these services preload into their own processes has broken other programs.
		return slices.Contains(place, name) || (colab || kaggle) && name == "LD_PRELOAD"
	})
	env = append(env, spec.Env...)
	size, number := strconv.Itoa(spec.Ranks), strconv.Itoa(rank)
	return append(env,
		"NEBULA_LAUNCHER=nebula", "NEBULA_RANK="+number, "NEBULA_SIZE="+size,
		"NEBULA_LOCAL_RANK="+number, "NEBULA_LOCAL_SIZE="+size,
		"NEBULA_JOB="+spec.Job, "NEBULA_EPOCH="+strconv.FormatUint(uint64(spec.Epoch), 10),
		controlVariable+"="+strconv.Itoa(controlFD))
}

// assign sends every rank what it is to do. A rank that has ended already is
// no failure of the start: its Exit says more.
func (r *Ranks) assign(ctx context.Context, payload []byte) error {
	body, err := json.Marshal(assignment{Dir: r.dir, Token: rand.Text(), Payload: payload})
	if err != nil {
		return err
	}
	failures := make([]error, len(r.procs))
	var sending sync.WaitGroup
	for i, p := range r.procs {
		sending.Go(func() {
			err := p.channel.write(ctx, Frame{kindAssignment, body})
			if err != nil && p.id.Alive() {
				failures[i] = fmt.Errorf("rank %d took no assignment: %w", p.rank, err)
			}
		})
	}
	sending.Wait()
	return errors.Join(failures...)
}

// Job is the name of the job.
func (r *Ranks) Job() string { return r.job }

// Dir is the job's folder, which holds its record and the logs of its ranks. It
// is removed by Close.
func (r *Ranks) Dir() string { return r.dir }

// Size is the number of ranks.
func (r *Ranks) Size() int { return len(r.procs) }

// Channel is the control channel of a rank. Its Recv returns io.EOF when the
// rank has ended.
func (r *Ranks) Channel(rank int) *Channel { return r.procs[rank].channel }

// Process is the operating system's name of a rank.
func (r *Ranks) Process(rank int) proc.ID { return r.procs[rank].id }

// Output is what a rank last printed, at most [TailSize] bytes.
func (r *Ranks) Output(rank int) string { return r.procs[rank].output.text() }

// Exits tells the end of every rank, one by one, and is closed after the last.
func (r *Ranks) Exits() <-chan Exit { return r.exits }

// Kill ends a rank at once.
func (r *Ranks) Kill(rank int) { r.procs[rank].kill() }

// Close ends all ranks and returns when they have been collected: it asks them
// to stop, sends SIGTERM after the grace, and SIGKILL after another, or as soon
// as ctx ends. The error names ranks that even that did not end in time. The
// first call decides; later ones return its error.
func (r *Ranks) Close(ctx context.Context) error {
	r.closing.Do(func() { r.closed = r.end(ctx) })
	return r.closed
}

func (r *Ranks) end(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, r.grace)
	defer cancel()
	for _, p := range r.procs {
		go p.channel.write(ask, Frame{Kind: kindStop})
	}
	if !r.endWithin(ctx, r.grace) {
		r.each((*process).terminate)
		if !r.endWithin(ctx, r.grace) {
			r.each((*process).kill)
		}
	}
	// Not ctx: it may have ended, and the dead must be collected.
	if !r.endWithin(context.Background(), killTime) {
		var left []string
		for _, p := range r.procs {
			if p.id.Alive() {
				left = append(left, fmt.Sprintf("rank %d (process %d)", p.rank, p.id.PID))
			}
		}
		return fmt.Errorf("%s did not end within %s of being killed", strings.Join(left, ", "), killTime)
	}
	for _, p := range r.procs {
		p.channel.Close()
	}
	return r.folder.remove(r.dir)
}

func (r *Ranks) each(do func(*process)) {
	for _, p := range r.procs {
		do(p)
	}
}

// endWithin reports whether all ranks are gone by then.
func (r *Ranks) endWithin(ctx context.Context, d time.Duration) bool {
	return within(ctx, d, func() bool {
		select {
		case <-r.gone:
			return true
		default:
			return false
		}
	})
}
