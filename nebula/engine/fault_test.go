package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/shard"
)

// faultPoints bounds the fault matrix, which takes some minutes in full.
var faultPoints = flag.Int("faults", 2, "messages at which each fault of a link is injected")

// deadline is that of engines in which something is made to fail that only a deadline
// tells of.
const deadline = slowness * 1500 * time.Millisecond

// patience bounds what must happen; tests that pass do not wait for it.
const patience = 5 * time.Minute

// tarry lets some deadlines pass, of the same looks as ranks count.
func tarry(deadlines int) {
	for range deadlines * looks {
		time.Sleep(deadline / looks)
	}
}

// fuse is a fault that happens at the n-th of some events, from 0.
type fuse struct {
	left atomic.Int64
	what string
}

func newFuse(what string, n int) *fuse {
	f := &fuse{what: what}
	f.left.Store(int64(n))
	return f
}

// blows reports whether the fault happens now.
func (f *fuse) blows() bool { return f.left.Add(-1) == -1 }

// faultyLink spoils one message that is written.
type faultyLink struct {
	net.Conn
	*fuse
}

func (l *faultyLink) Write(b []byte) (int, error) {
	if l.what == "flip" && kind(b[6]) != kindStep || !l.blows() {
		return l.Conn.Write(b)
	}
	switch l.what {
	case "drop":
		return len(b), nil
	case "garbage":
		return l.Conn.Write(bytes.Repeat([]byte{0xa5}, len(b)))
	case "cut":
		l.Conn.Write(b[:len(b)/2])
		l.Conn.Close()
		return len(b), nil
	case "flip": // one bit of the first token
		b = bytes.Clone(b)
		b[headerBytes+4*(4+rowWords)] ^= 1
		return l.Conn.Write(b)
	case "repeat":
		again := bytes.Clone(b)
		defer func() { go l.Conn.Write(again) }()
	case "close":
		l.Conn.Close()
	case "delay":
		tarry(3)
	}
	return l.Conn.Write(b)
}

// faultyGroup spoils one call of a group for programs.
type faultyGroup struct {
	collective.Group
	*fuse
}

func (g *faultyGroup) Epoch() uint32 { return 7 }

func (g *faultyGroup) Sub(name string, ranks []int) (collective.Group, error) {
	sub, err := g.Group.Sub(name, ranks)
	if err != nil || g.fuse == nil || (name == "agree") != strings.HasSuffix(g.what, "agree") {
		return sub, err
	}
	return &faultyGroup{sub, g.fuse}, nil
}

func (g *faultyGroup) spoil(ctx context.Context) error {
	if g.fuse == nil || !g.blows() {
		return nil
	}
	switch g.what {
	case "panic in a call":
		var none *tensor.Tensor
		none.Reshape(1)
	case "hang in a call", "hang in agree":
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return errors.New("the card is on fire")
}

func (g *faultyGroup) AllReduce(ctx context.Context, r backend.Reduction, t *tensor.Tensor) error {
	if err := g.spoil(ctx); err != nil {
		return err
	}
	return g.Group.AllReduce(ctx, r, t)
}

func (g *faultyGroup) Send(ctx context.Context, peer int, t *tensor.Tensor) error {
	if err := g.spoil(ctx); err != nil {
		return err
	}
	return g.Group.Send(ctx, peer, t)
}

func (g *faultyGroup) Recv(ctx context.Context, peer int, t *tensor.Tensor) error {
	if err := g.spoil(ctx); err != nil {
		return err
	}
	return g.Group.Recv(ctx, peer, t)
}

// faultyBackend spoils one compilation or one run.
type faultyBackend struct {
	backend.Backend
	*fuse
}

func (b *faultyBackend) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	if strings.HasSuffix(b.what, "compiler") && b.blows() {
		if strings.HasPrefix(b.what, "panic") {
			panic("no such register")
		}
		return nil, errors.New("no space left on device")
	}
	exe, err := b.Backend.Compile(ctx, g)
	return &faultyExecutable{exe, b.fuse}, err
}

type faultyExecutable struct {
	backend.Executable
	*fuse
}

func (x *faultyExecutable) RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	if strings.HasSuffix(x.what, "kernel") && x.blows() {
		switch strings.Fields(x.what)[0] {
		case "panic":
			panic("index out of range")
		case "hang":
			<-ctx.Done()
			return context.Cause(ctx)
		case "stuck":
			tarry(2) // whatever ctx says
		}
		return errors.New("not a number")
	}
	return backend.RunInto(ctx, x.Executable, outputs, inputs)
}

// injury is a fault on one rank of a cluster. Zero ranks are healthy.
type injury struct {
	rank            int
	command, answer *fuse // in messages to and from the rank
	call            *fuse
	backend         *fuse
	timeout         time.Duration // of groups; 0 is half the deadline
}

// deadline is that of an engine with the injury: where its cause is told at once, so long
// that a busy machine has no part in the outcome.
func (in injury) deadline() time.Duration {
	for _, f := range []*fuse{in.command, in.answer, in.call, in.backend} {
		if f != nil && slices.Contains([]string{"drop", "delay", "hang", "stuck"}, strings.Fields(f.what)[0]) {
			return deadline
		}
	}
	return 10 * deadline
}

// cluster is an engine of which each rank could be a process.
type cluster struct {
	*Leader
	served []chan error // by rank
}

// start opens a cluster with an injury. It fails the test when the engine cannot be
// opened, unless that is for the injury to decide.
func start(t *testing.T, l shard.Layout, in injury) (*cluster, error) {
	t.Helper()
	m := seeded(t, tinyConfig())
	member := func(p shard.Place, world collective.Group) Member {
		m := Member{Model: m, Place: p, Backend: single(), Deadline: in.deadline(), World: &faultyGroup{world, nil}}
		if p.Rank == in.rank {
			if in.backend != nil {
				m.Backend = &faultyBackend{single(), in.backend}
			}
			m.World = &faultyGroup{world, in.call}
		}
		return m
	}
	// Whoever waits for the injured rank says so long before rank 0 finds the step overdue,
	// unless the injury is about that.
	worlds := collective.Local(l.Ranks(), collective.Options{Timeout: cmp.Or(in.timeout, in.deadline()/2)})
	c := &cluster{served: make([]chan error, l.Ranks())}
	links := make([]Link, l.Ranks())
	for _, p := range l.Places()[1:] {
		ours, theirs := net.Pipe()
		if p.Rank == in.rank && in.command != nil {
			ours = &faultyLink{ours, in.command}
		}
		if p.Rank == in.rank && in.answer != nil {
			theirs = &faultyLink{theirs, in.answer}
		}
		links[p.Rank] = ours
		c.served[p.Rank] = make(chan error, 1)
		go func() { c.served[p.Rank] <- Serve(context.Background(), member(p, worlds[p.Rank]), theirs) }()
	}
	var err error
	c.Leader, err = Lead(t.Context(), member(l.Places()[0], worlds[0]), links, Options{BlockSize: 4, Blocks: 64, MaxRows: 4})
	return c, err
}

// work runs steps of two requests until the engine fails.
func (c *cluster) work(ctx context.Context) error {
	vocab := c.Info().Vocab
	blocks := [][]int32{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}
	pos := []int{0, 0}
	for i := 0; pos[0] < 28; i++ {
		r := i % 2
		n := 1
		if pos[r] == 0 {
			n = 5
		}
		t, err := c.Submit(ctx, Step{[]Row{{Request: uint64(r), Tokens: prompt(i, n, vocab), Pos: pos[r], Blocks: blocks[r], Logits: true}}})
		if err != nil {
			return err
		}
		pos[r] += n
		if i%2 == 0 && c.Info().Depth > 1 {
			continue // two in flight
		}
		for k := Ticket(0); k <= Ticket(i%2) && k < t; k++ {
			if _, err := c.Wait(ctx, t-Ticket(i%2)+k); err != nil && !strings.Contains(err.Error(), "taken") {
				return err
			}
		}
	}
	return nil
}

// TestFailures injures a rank at many points. Whatever happens, the engine fails with
// one cause that names the rank, all ranks end, and nothing is left.
func TestFailures(t *testing.T) {
	layouts := []shard.Layout{{TP: 2, PP: 1}, {TP: 2, PP: 2}, {TP: 1, PP: 2}}
	count := *faultPoints
	if testing.Short() {
		count, layouts = 1, layouts[:2]
	}
	queue := make(chan func())
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for run := range queue {
				run()
			}
		})
	}
	for _, l := range layouts {
		injuries(l, count, func(name string, in injury) {
			queue <- func() { injured(t, l, name, in) }
		})
	}
	close(queue)
	all.Wait()
	nothingLeft(t)
}

// atOnce is how many engines are injured at once: most of their time they wait.
const atOnce = 6 / slowness

// injuries calls f with those of a layout, with some points for each fault of a link.
func injuries(l shard.Layout, points int, f func(name string, in injury)) {
	for _, what := range []string{"drop", "garbage", "cut", "flip", "repeat", "close", "delay"} {
		for i := range points {
			n := 5 * i / 2
			if what == "delay" {
				n += 5 // a rank may take its time to start
			}
			f(fmt.Sprintf("%s command %d", what, n), injury{rank: l.Ranks() - 1, command: newFuse(what, n)})
			if what == "flip" { // of a token
				continue
			}
			f(fmt.Sprintf("%s answer %d", what, n), injury{rank: l.Ranks() - 1, answer: newFuse(what, n)})
		}
	}
	for rank := range l.Ranks() {
		for _, what := range []string{"panic in a call", "hang in a call", "error in a call", "hang in agree", "error in agree"} {
			f(fmt.Sprintf("%s of rank %d", what, rank), injury{rank: rank, call: newFuse(what, 2+rank)})
		}
		for _, what := range []string{"panic in a kernel", "hang in a kernel", "error in a kernel", "stuck in a kernel", "error in the compiler", "panic in the compiler"} {
			f(fmt.Sprintf("%s of rank %d", what, rank), injury{rank: rank, backend: newFuse(what, 1)})
		}
	}
}

func injured(t *testing.T, l shard.Layout, name string, in injury) {
	t.Run(fmt.Sprintf("%dx%d/%s", l.TP, l.PP, name), func(t *testing.T) {
		c, err := start(t, l, in)
		if err == nil {
			err = c.work(t.Context())
		}
		if err == nil { // what follows are signs of life
			select {
			case <-c.health.over:
				err = c.health.err()
			case <-time.After(patience):
			}
		}
		cause := (*Error)(nil)
		if !errors.As(err, &cause) {
			t.Errorf("the engine gives %v (%T)", err, err)
			cause = &Error{Rank: in.rank, Epoch: 7, Op: "none"}
		}
		// Who has the wrong step cannot be told, nor which end of a slow link is slow.
		anybody := strings.HasPrefix(name, "flip") || strings.HasPrefix(name, "delay")
		blamed := in.rank
		if what := strings.Fields(name)[0]; in.command != nil && (what == "drop" || what == "garbage" || what == "repeat") {
			blamed = 0 // who sent it, as far as the rank can tell
		}
		if cause.Rank != blamed && !anybody || cause.Epoch != 7 || cause.Op == "" {
			t.Errorf("the cause is laid to rank %d, epoch %d, operation %q: %v", cause.Rank, cause.Epoch, cause.Op, err)
		}
		if c.Leader != nil {
			sameAfter(t, c.Leader, cause)
			if err := c.Close(); !errors.Is(err, cause) {
				t.Errorf("Close: %v", err)
			}
			sameAfter(t, c.Leader, cause)
		}
		c.allFailed(t)
	})
}

// allFailed waits until all ranks but rank 0 have ended with an error.
func (c *cluster) allFailed(t *testing.T) {
	t.Helper()
	for r, served := range c.served[1:] {
		select {
		case err := <-served:
			if err == nil {
				t.Errorf("rank %d ended as if nothing had happened", r+1)
			}
		case <-time.After(patience):
			t.Fatalf("rank %d did not end:\n%s", r+1, stacks())
		}
	}
}

// sameAfter checks that all calls give the cause.
func sameAfter(t *testing.T, l *Leader, cause error) {
	t.Helper()
	_, submit := l.Submit(t.Context(), Step{[]Row{{Request: 9, Tokens: []int32{1}, Blocks: []int32{20}}}})
	_, wait := l.Wait(t.Context(), 1<<40)
	for _, err := range []error{submit, wait, l.Release(t.Context(), 1), l.Status().Err} {
		if err != cause {
			t.Errorf("a later call gives %v, not %v", err, cause)
		}
	}
	if h := l.Status().Health; h == Healthy {
		t.Errorf("the engine is %v", h)
	}
}

func stacks() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}

// nothingLeft waits until no goroutine of an engine or a group is left.
func nothingLeft(t *testing.T) {
	t.Helper()
	var left []string
	for range 3000 {
		left = left[:0]
		for _, g := range strings.Split(stacks(), "\n\n") {
			if strings.Contains(g, "forgekernel/nebula/") && !strings.Contains(g, "testing.tRunner") {
				left = append(left, g)
			}
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
}

// gatedBackend holds back runs until a channel is closed.
type gatedBackend struct {
	backend.Backend
	open <-chan struct{}
}

func (b *gatedBackend) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	exe, err := b.Backend.Compile(ctx, g)
	return &gatedExecutable{exe, b.open}, err
}

type gatedExecutable struct {
	backend.Executable
	open <-chan struct{}
}

func (x *gatedExecutable) RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	<-x.open
	return backend.RunInto(ctx, x.Executable, outputs, inputs)
}
