package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/shard"
)

// lengthy is a backend whose programs for long chunks take a time beside that of the
// computation.
type lengthy struct {
	backend.Backend
	time time.Duration
}

func (b *lengthy) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	exe, err := b.Backend.Compile(ctx, g)
	if err != nil || len(g.Nodes) == 0 {
		return nil, err
	}
	for _, v := range append(g.Inputs, g.Nodes[0].Out...) { // tokens, or what comes from the stage before
		if (v.Name == "tokens" || v.Def != nil && v.Def.Op.Name == "recv") && v.Spec.Shape[1] >= longChunk {
			return &lengthyExecutable{exe, b.time}, nil
		}
	}
	return exe, nil
}

type lengthyExecutable struct {
	backend.Executable
	time time.Duration
}

func (x *lengthyExecutable) RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	select {
	case <-time.After(x.time):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return backend.RunInto(ctx, x.Executable, outputs, inputs)
}

// TestLongComputation has one rank compute a chunk for two deadlines, while others wait
// for it: nothing is wrong.
func TestLongComputation(t *testing.T) {
	for _, l := range []shard.Layout{{TP: 1, PP: 1}, {TP: 2, PP: 1}, {TP: 1, PP: 2}} {
		for rank := range l.Ranks() {
			t.Run(fmt.Sprintf("%v rank %d", l, rank), func(t *testing.T) {
				t.Parallel()
				m := seeded(t, llamaConfig())
				worlds := collective.Local(l.Ranks(), collective.Options{Timeout: deadline * 3 / 4})
				links := make([]Link, l.Ranks())
				var others sync.WaitGroup
				defer others.Wait()
				member := func(p shard.Place) Member {
					m := Member{Model: m, Place: p, Backend: single(), Deadline: deadline, World: worlds[p.Rank]}
					if p.Rank == rank {
						m.Backend = &lengthy{single(), 2 * deadline}
					}
					return m
				}
				for _, p := range l.Places()[1:] {
					ours, theirs := net.Pipe()
					links[p.Rank] = ours
					others.Go(func() {
						if err := Serve(context.Background(), member(p), theirs); err != nil {
							t.Errorf("rank %d: %v", p.Rank, err)
						}
					})
				}
				e, err := Lead(t.Context(), member(l.Places()[0]), links, Options{BlockSize: 16, Blocks: 16})
				if err != nil {
					t.Fatal(err)
				}
				row := Row{Request: 1, Tokens: prompt(1, longChunk-4, m.Config.Vocab), Blocks: []int32{0, 1, 2, 3}, Logits: true}
				for range 2 { // the chunk, then a token
					ticket, err := e.Submit(t.Context(), Step{[]Row{row}})
					if err == nil {
						_, err = e.Wait(t.Context(), ticket)
					}
					if err != nil {
						t.Fatal(err)
					}
					row.Pos, row.Tokens = longChunk-4, []int32{1}
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// longVariable makes a child's programs for long chunks take an hour.
const longVariable = "ENGINE_TEST_LONG"

// TestStoppedInLongComputation stops a process that computes a chunk which has many
// deadlines: it is silent, and found within one.
func TestStoppedInLongComputation(t *testing.T) {
	t.Setenv(longVariable, "1")
	p := startProcesses(t, shard.Layout{TP: 2, PP: 1}, slowness*time.Second, Options{Blocks: 16})
	ticket, err := p.Submit(t.Context(), Step{[]Row{{Request: 1, Tokens: prompt(1, 2*longChunk, 256), Blocks: []int32{0, 1, 2, 3, 4, 5, 6, 7}, Logits: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for p.Status().Ranks[1].State != "running" {
		time.Sleep(time.Millisecond)
	}
	if err := p.children[1].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, err = p.Wait(t.Context(), ticket)
	if cause := (*Error)(nil); !errors.As(err, &cause) || cause.Rank != 1 || cause.Op != opHeartbeat {
		t.Errorf("error %v", err)
	}
	_ = p.Close()
	_ = p.children[1].Process.Kill()
	_ = p.finished(t, 1)
}
