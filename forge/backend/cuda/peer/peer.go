// Package peer is memory of devices that the devices of other ranks write to directly, and
// the kernel that sums small tensors through it.
//
// A collective of a library takes several microseconds whatever the size of a tensor,
// and nothing can be computed in its kernel. Here every rank writes what it has into a
// mailbox of each other one and waits for what arrives in its own, in one kernel, which
// goes on with the sum: one way over the bus, and no launch of its own for what follows.
//
// The ranks of a group, each a device, make a [Memory] and exchange what [New] gives,
// by whatever means they have; each then calls [Memory.Connect]. A kernel that waits for a
// rank that never comes ends after [Memory.Abort]. Whether devices do reach one another
// shows when they try: whoever connects them compares sums of known values before use.
package peer

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"forgekernel/forge/backend/cuda/driver"
)

// MaxRanks bounds a group: every rank writes to all others.
const MaxRanks = 8

// Form of a mailbox, which the kernel knows.
const (
	maxBlocks = 32
	maxWords  = 8192 // of a block, of one element each
	wordBytes = 8
)

// Ticket is what other ranks need to reach the memory of one: who it is, the host, and the
// handle of the memory.
type Ticket struct {
	Name   [16]byte
	Host   [16]byte
	Handle driver.Handle
}

// Memory is the mailboxes of a group, seen from one rank.
type Memory struct {
	Rank, Size int
	device     *driver.Context
	own        *driver.Shared
	name       [16]byte
	others     []*driver.Shared // of other processes
	boxes      []uint64         // addresses by rank, as this device reaches them
	mu         sync.Mutex       // of what follows
	ended      *driver.Host     // a word that kernels look at while they wait
	cause      error            // why it is set
}

// here are the memories of this process by name: those need no handle.
var here sync.Map

// mailBytes is the memory of a rank in a group of so many: mailboxes, and the turns.
func mailBytes(size int) int64 {
	return 2*int64(size)*maxBlocks*maxWords*wordBytes + 4*maxBlocks
}

// New takes memory of a device for a rank of a group.
func New(ctx context.Context, device *driver.Context, rank, size int) (*Memory, Ticket, error) {
	var t Ticket
	if size < 2 || size > MaxRanks || rank < 0 || rank >= size {
		return nil, t, fmt.Errorf("rank %d of %d ranks cannot have mailboxes; groups have 2 to %d", rank, size, MaxRanks)
	}
	host, err := hostID()
	if err != nil {
		return nil, t, err
	}
	m := &Memory{Rank: rank, Size: size, device: device, boxes: make([]uint64, size)}
	if _, err := rand.Read(m.name[:]); err != nil {
		return nil, t, err
	}
	t.Name, t.Host = m.name, host
	err = device.Do(ctx, func() (err error) {
		if m.own, err = device.NewShared(mailBytes(size)); err != nil {
			return err
		}
		if m.ended, err = device.NewHost(4); err != nil {
			return err
		}
		clear(m.ended.Bytes)
		t.Handle, err = m.own.Handle()
		return err
	})
	if err != nil {
		return nil, t, errors.Join(err, m.Close())
	}
	here.Store(m.name, m)
	return m, t, nil
}

// hostID is the same for all processes of a host, while it runs.
func hostID() (id [16]byte, err error) {
	const path = "/proc/sys/kernel/random/boot_id"
	raw, err := os.ReadFile(path)
	if err != nil {
		return id, err
	}
	raw = bytes.ReplaceAll(bytes.TrimSpace(raw), []byte("-"), nil)
	if len(raw) != 2*len(id) {
		return id, fmt.Errorf("%s is %q", path, raw)
	}
	for i := range id {
		if _, err := fmt.Sscanf(string(raw[2*i:2*i+2]), "%02x", &id[i]); err != nil {
			return id, fmt.Errorf("%s: %w", path, err)
		}
	}
	return id, nil
}

// Connect reaches the memory of all ranks, whose tickets are in their order.
func (m *Memory) Connect(ctx context.Context, tickets []Ticket) error {
	if len(tickets) != m.Size || tickets[m.Rank].Name != m.name {
		return fmt.Errorf("%d tickets are not those of the %d ranks", len(tickets), m.Size)
	}
	return m.device.Do(ctx, func() error {
		for rank, t := range tickets {
			at, err := m.reach(rank, t, tickets[m.Rank].Host)
			if err != nil {
				return fmt.Errorf("the memory of rank %d cannot be reached: %w", rank, err)
			}
			m.boxes[rank] = at
		}
		return nil
	})
}

// reach is where this device finds the memory of a rank.
func (m *Memory) reach(rank int, t Ticket, host [16]byte) (uint64, error) {
	if rank == m.Rank {
		return m.own.Address, nil
	}
	if t.Host != host {
		return 0, errors.New("it is of another host")
	}
	if other, ok := here.Load(t.Name); ok {
		other := other.(*Memory)
		if other.device.Ordinal == m.device.Ordinal {
			return 0, errors.New("it is of the same device")
		}
		return other.own.Address, m.device.Reach(other.device)
	}
	shared, err := m.device.OpenShared(t.Handle, m.own.Bytes)
	if err != nil {
		return 0, err
	}
	m.others = append(m.others, shared)
	return shared.Address, nil
}

// Words adds the last arguments of the kernels of [Reduction.Kernel] to a list.
func (m *Memory) Words(list []uint64) []uint64 {
	turns := m.own.Address + uint64(m.own.Bytes) - 4*maxBlocks
	return append(append(list, m.boxes...), m.boxes[m.Rank], turns, m.ended.Address(), uint64(m.Rank))
}

// Abort ends what kernels wait for. Their results are undefined, which [Memory.Err] tells.
func (m *Memory) Abort(cause error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cause == nil && m.ended != nil {
		m.cause = fmt.Errorf("the exchange between devices was given up: %w", cause)
		atomic.StoreUint32((*uint32)(unsafe.Pointer(unsafe.SliceData(m.ended.Bytes))), 1)
	}
}

// Err is why the group was given up, nil while it was not.
func (m *Memory) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cause
}

// Close gives the memory back. No kernel of this rank uses it any more, and none of the
// others does: they have left the group.
func (m *Memory) Close() error {
	here.Delete(m.name)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.device.Do(context.Background(), func() error {
		var err error
		for _, s := range m.others {
			err = errors.Join(err, s.Close())
		}
		m.others = nil
		if m.own != nil {
			err = errors.Join(err, m.own.Close())
			m.own = nil
		}
		if m.ended != nil {
			err = errors.Join(err, m.ended.Free())
			m.ended = nil
		}
		return err
	})
}
