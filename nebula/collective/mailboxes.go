package collective

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/cuda/peer"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// ByMailbox lets the devices of a group that [OverDevices] made add small tensors in one
// kernel, where each reaches the memory of all others and sums of known values come out
// right on every rank. All ranks call it with theirs. Where that is not so, all ranks go
// on without, and programs tell why; the error is of a group that has failed.
func ByMailbox(ctx context.Context, g Group, on *cuda.Backend) error {
	d, ok := g.(*devices)
	if !ok {
		return fmt.Errorf("group %s: its ranks have no devices that exchange tensors", g.Name())
	}
	var memory *peer.Memory
	var ticket peer.Ticket
	why := indirect()
	if why == nil {
		memory, ticket, why = peer.New(ctx, on.Context, g.Rank(), g.Size())
	}
	why, err := d.agreed(ctx, why)
	if why == nil && err == nil {
		why, err = d.connect(ctx, memory, ticket)
	}
	if why == nil && err == nil {
		d.mailboxes = memory
		why, err = d.compareSums(ctx, on)
	}
	if err != nil || why == nil {
		return err
	}
	d.mailboxes, d.without = nil, why.Error()
	if memory == nil {
		return nil
	}
	return memory.Close()
}

// indirect is why devices are not to reach one another: somebody says so, or they have been
// found not to.
func indirect() error {
	if v := os.Getenv("NCCL_P2P_DISABLE"); v != "" && v != "0" {
		return errors.New("NCCL_P2P_DISABLE is set")
	}
	return nil
}

// connect reaches the memory of all ranks, on all.
func (d *devices) connect(ctx context.Context, memory *peer.Memory, mine peer.Ticket) (why, err error) {
	tickets, err := shareTickets(ctx, d, mine)
	if err != nil {
		return nil, err
	}
	return d.agreed(ctx, memory.Connect(ctx, tickets))
}

// shareTickets gives each rank those of all.
func shareTickets(ctx context.Context, g Group, mine peer.Ticket) ([]peer.Ticket, error) {
	raw, err := binary.Append(nil, binary.LittleEndian, mine)
	if err != nil {
		return nil, err
	}
	words, err := tensor.Zeros(tensor.I32, len(raw)/4)
	if err != nil {
		return nil, err
	}
	all, err := tensor.Zeros(tensor.I32, g.Size()*words.Len())
	if err != nil {
		return nil, err
	}
	if _, err := binary.Decode(raw, binary.LittleEndian, words.Int32()); err != nil {
		return nil, err
	}
	if err := g.AllGather(ctx, all, words); err != nil {
		return nil, err
	}
	if raw, err = binary.Append(nil, binary.LittleEndian, all.Int32()); err != nil {
		return nil, err
	}
	tickets := make([]peer.Ticket, g.Size())
	_, err = binary.Decode(raw, binary.LittleEndian, tickets)
	return tickets, err
}

// agreed asks all ranks whether something works: it is nil when none has a reason why it
// does not, else that of this rank, or that another has one.
func (d *devices) agreed(ctx context.Context, why error) (error, error) {
	failed := tensor.Scalar(tensor.I32, 0)
	if why != nil {
		failed.Int32()[0] = 1 + int32(d.Rank())
	}
	if err := d.AllReduce(ctx, backend.Max, failed); err != nil {
		return why, err
	}
	if rank := failed.Int32()[0] - 1; why == nil && rank >= 0 {
		return fmt.Errorf("that fails on rank %d", rank), nil
	}
	return why, nil
}

// comparison bounds the first sums.
const comparison = 10 * time.Second

// compareSums adds values that are known, in one block and in many, and returns why all
// ranks do without mailboxes, if so.
func (d *devices) compareSums(ctx context.Context, on *cuda.Backend) (why, err error) {
	within, cancel := context.WithTimeoutCause(ctx, comparison, fmt.Errorf("sums between devices take longer than %v", comparison))
	defer cancel()
	for _, n := range []int{6, peer.MaxElements} {
		s, why := d.newSum(within, on, n)
		// Ranks of one process take memory of all its devices, none of which may wait then.
		if why, err = d.agreed(ctx, why); why == nil && err == nil {
			if why = s.compare(within); why != nil {
				d.mailboxes.Abort(why)
			}
			why, err = d.agreed(ctx, why)
		}
		if err = errors.Join(err, s.close()); why != nil || err != nil {
			return why, err
		}
	}
	return nil, nil
}

// sum is a program that adds n elements of all ranks.
type sum struct {
	d     *devices
	exe   *cuda.Executable
	bound backend.Bound
	x, y  *tensor.Tensor
}

func (d *devices) newSum(ctx context.Context, on *cuda.Backend, n int) (*sum, error) {
	s := &sum{d: d}
	g, err := ir.Parse(op.Registry, fmt.Sprintf("graph sum(%%x: f32[%[1]d]) {\n%%y: f32[%[1]d] = all_reduce %%x {size = %[2]d}\nreturn %%y\n}", n, d.Size()))
	if err != nil {
		return s, err
	}
	if s.x, err = tensor.Zeros(tensor.F32, n); err != nil {
		return s, err
	}
	if s.y, err = tensor.Zeros(tensor.F32, n); err != nil {
		return s, err
	}
	ctx = backend.WithGroup(ctx, "world", d)
	exe, err := on.Compile(ctx, g)
	if err != nil {
		return s, err
	}
	s.exe = exe.(*cuda.Executable)
	s.bound, err = s.exe.Bind(ctx, make([]backend.Held, 1), make([]backend.Held, 1))
	return s, err
}

func (s *sum) close() error {
	var err error
	if s.bound != nil {
		err = s.bound.Close()
	}
	if s.exe != nil {
		err = errors.Join(err, s.exe.Close())
	}
	return err
}

// compare runs the program several times, since elements are exchanged by turns.
func (s *sum) compare(ctx context.Context) error {
	const rounds = 5
	for round := range rounds {
		value := func(rank, i int) float32 { return float32((i*31+rank*17+round*7)%1000) + float32(rank)/8 }
		for i := range s.x.Len() {
			s.x.Float32()[i] = value(s.d.Rank(), i)
		}
		if err := s.bound.Run(ctx, []*tensor.Tensor{s.y}, []*tensor.Tensor{s.x}); err != nil {
			return err
		}
		for i, got := range s.y.Float32() {
			want := float32(0)
			for rank := range s.d.Size() {
				want += value(rank, i)
			}
			if got != want {
				return fmt.Errorf("element %d of a sum between devices is %v and should be %v", i, got, want)
			}
		}
	}
	return nil
}

// Peer is [cuda.Exchanging].
func (d *devices) Peer() (*peer.Memory, string) {
	if d.mailboxes == nil && d.without == "" {
		return nil, "its tensors are for NCCL"
	}
	return d.mailboxes, d.without
}

var _ cuda.Exchanging = (*devices)(nil)
