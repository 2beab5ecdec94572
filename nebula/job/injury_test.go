package job

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/serve"
)

// injury is what happens to one rank of a job, at which of its events. Events are
// runs of programs, calls of groups and messages on links to other ranks. It comes
// to the ranks of these tests in a variable of their environment.
type injury struct {
	What  string
	Rank  int
	Event int
	Seed  uint64 // of what is at random in it
	Note  string // the file in which the rank writes when it happens
	// Across makes the ranks believe that each is on a host of its own.
	Across bool
}

const injuryVariable = "JOB_TEST_INJURY"

func (in injury) environment() []string {
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return []string{injuryVariable + "=" + string(raw)}
}

// rankMain is a rank of the jobs of these tests.
func rankMain() error {
	text, injured := os.LookupEnv(injuryVariable)
	var in injury
	if injured {
		if err := json.Unmarshal([]byte(text), &in); err != nil {
			return err
		}
	}
	r, err := launch.Attach()
	if err != nil {
		return err
	}
	if !injured {
		return Attend(r, tasks)
	}
	return attend(r, tasks, in.join)
}

// join is [Join] on an injured rank, and on ranks that believe to be far apart.
func (in injury) join(ctx context.Context, r *launch.Rank, s Spec, tasks map[string]serve.Task) (*serve.Local, error) {
	v := &victim{injury: in, random: rand.New(rand.NewPCG(in.Seed, 1))}
	v.left.Store(int64(in.Event))
	hurt := r.Job.Rank == in.Rank
	if hurt {
		switch in.What {
		case "has no model":
			v.note()
			s.Model = "/nowhere/model.gguf"
		case "is another version":
			v.note()
			s.Chunk++
		case "is stopped before it comes":
			v.note()
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		case "does not come":
			v.note()
			time.Sleep(time.Hour)
		}
	}
	w, err := open(r, s)
	if err != nil {
		return nil, err
	}
	if in.Across {
		w.config.Address, w.config.Host = "127.0.0.1", fmt.Sprintf("host %d", r.Job.Rank)
	}
	if err := w.meet(ctx); err != nil {
		return nil, err
	}
	if hurt {
		v.take(w)
	}
	return w.work(ctx, tasks)
}

// victim is the rank to which it happens.
type victim struct {
	injury
	left   atomic.Int64    // events before it
	before map[string]bool // ways to other ranks that no program uses

	mu     sync.Mutex
	random *rand.Rand
	once   sync.Once
}

// take lets the events of a rank be seen.
func (v *victim) take(w *rank) {
	v.before = v.ways()
	w.member.Backend = &injuredBackend{w.member.Backend, v}
	w.member.World = &injuredGroup{w.member.World, v}
	for i, l := range w.links {
		if l != nil {
			w.links[i] = &injuredLink{l, v}
		}
	}
}

// note writes down that it happens now.
func (v *victim) note() {
	part := v.Note + ".part"
	if os.WriteFile(part, strconv.AppendInt(nil, time.Now().UnixNano(), 10), 0o600) == nil {
		os.Rename(part, v.Note)
	}
}

// Where an event is seen.
const (
	inRun = 1 << iota
	inCall
	inMessage
	anywhere = inRun | inCall | inMessage
)

// places are where events count for what is to happen.
var places = map[string]int{
	"panics in a kernel": inRun, "is slow in a kernel": inRun, "is slow in a call": inCall, "spoils a command": inMessage,
}

// event counts an event and reports whether it happens now, to the caller.
func (v *victim) event(place int) bool {
	at, ok := places[v.What]
	if !ok {
		at = anywhere
	}
	if at&place == 0 {
		return false
	}
	if v.What == "prints without end" {
		fmt.Println(strings.Repeat("x", 1000))
		return false
	}
	switch left := v.left.Add(-1); {
	case left >= 0:
		return false
	case v.What == "spoils a stream" || v.What == "spoils memory": // and again, until it is seen
		v.spoil()
		return false
	case left < -1:
		return false
	}
	return v.happen()
}

// happen is what happens. It reports whether the caller has to do it.
func (v *victim) happen() bool {
	v.note()
	switch v.What {
	case "exits":
		os.Exit(3)
	case "panics":
		go panic("a mistake in a goroutine")
		time.Sleep(time.Hour)
	case "is killed":
		signalSelf(syscall.SIGKILL)
	case "is stopped", "is stopped and goes on":
		signalSelf(syscall.SIGSTOP)
	case "is told to end":
		signalSelf(syscall.SIGTERM)
	case "spoils the control channel":
		unix.Write(3, bytes.Repeat([]byte{0xa5}, 64))
	default:
		return true
	}
	return false
}

// signalSelf sends this process a signal that ends or stops it.
func signalSelf(s syscall.Signal) { syscall.Kill(os.Getpid(), s) }

// ways are the connected sockets and the shared memory of this process, by what
// only one has.
func (v *victim) ways() map[string]bool {
	all := make(map[string]bool)
	if v.What == "spoils memory" {
		maps, _ := os.ReadFile("/proc/self/maps")
		for line := range strings.Lines(string(maps)) {
			if strings.Contains(line, "memfd:nebula") {
				all[strings.Fields(line)[0]] = true
			}
		}
		return all
	}
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, path := range fds {
		fd, _ := strconv.Atoi(filepath.Base(path))
		if _, err := unix.Getpeername(fd); err == nil {
			name, _ := os.Readlink(path)
			all[strconv.Itoa(fd)+" "+name] = true
		}
	}
	return all
}

// spoil writes nonsense into a socket or memory of a group that programs use, if
// there is one already.
func (v *victim) spoil() {
	v.mu.Lock()
	defer v.mu.Unlock()
	var list []string
	for way := range v.ways() {
		if !v.before[way] {
			list = append(list, way)
		}
	}
	if len(list) == 0 {
		return
	}
	way := list[v.random.IntN(len(list))]
	v.once.Do(v.note)
	if v.What == "spoils a stream" {
		fd, _ := strconv.Atoi(strings.Fields(way)[0])
		unix.Write(fd, bytes.Repeat([]byte{0xa5}, 256))
		return
	}
	var from, to int64
	fmt.Sscanf(way, "%x-%x", &from, &to)
	memory, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err == nil {
		_, err = memory.WriteAt(bytes.Repeat([]byte{0xa5}, int(to-from)), from)
	}
	if err != nil {
		panic(err)
	}
}

// injuredLink is the way to another rank, as the victim has it.
type injuredLink struct {
	engine.Link
	*victim
}

func (l *injuredLink) Write(b []byte) (int, error) {
	if l.event(inMessage) {
		return l.Link.Write(bytes.Repeat([]byte{0xa5}, len(b)))
	}
	return l.Link.Write(b)
}

// injuredBackend compiles for the victim.
type injuredBackend struct {
	backend.Backend
	*victim
}

func (b *injuredBackend) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	exe, err := b.Backend.Compile(ctx, g)
	if err != nil {
		return nil, err
	}
	return &injuredProgram{exe, b.victim}, nil
}

type injuredProgram struct {
	backend.Executable
	*victim
}

func (x *injuredProgram) RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	if x.event(inRun) {
		if x.What == "panics in a kernel" {
			panic("index out of range")
		}
		tarry() // whatever ctx says
	}
	return backend.RunInto(ctx, x.Executable, outputs, inputs)
}

// injuredGroup makes the calls of the victim.
type injuredGroup struct {
	collective.Group
	*victim
}

func (g *injuredGroup) Sub(name string, ranks []int) (collective.Group, error) {
	sub, err := g.Group.Sub(name, ranks)
	if err != nil {
		return nil, err
	}
	return &injuredGroup{sub, g.victim}, nil
}

func (g *injuredGroup) called() {
	if g.event(inCall) {
		tarry()
	}
}

// tarry lets three deadlines pass, in parts as ranks count them.
func tarry() {
	for range 3 * 8 {
		time.Sleep(faultDeadline / 8)
	}
}

func (g *injuredGroup) AllReduce(ctx context.Context, r backend.Reduction, t *tensor.Tensor) error {
	g.called()
	return g.Group.AllReduce(ctx, r, t)
}

func (g *injuredGroup) AllGather(ctx context.Context, all, part *tensor.Tensor) error {
	g.called()
	return g.Group.AllGather(ctx, all, part)
}

func (g *injuredGroup) Send(ctx context.Context, peer int, t *tensor.Tensor) error {
	g.called()
	return g.Group.Send(ctx, peer, t)
}

func (g *injuredGroup) Recv(ctx context.Context, peer int, t *tensor.Tensor) error {
	g.called()
	return g.Group.Recv(ctx, peer, t)
}
