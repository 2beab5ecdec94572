package collective

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/nccl"
	"forgekernel/forge/backend/cuda/peer"
	"forgekernel/forge/backend/cuda/preflight"
	"forgekernel/forge/tensor"
)

// devices is a group whose ranks have a GPU each. Programs on them exchange tensors
// through a communicator of NCCL, which is part of their captured work; the group stays
// what ranks agree by, and what tells that one has died.
type devices struct {
	Group
	comm      *nccl.Comm
	mailboxes *peer.Memory // nil where devices do not add small tensors in one kernel
	without   string       // why not
}

// OverDevices joins the GPUs of the ranks of a group, of which all call it with theirs.
// The result is the group, whose Abort also ends what devices wait for, and whose Close
// closes both. If it fails the group is unusable.
func OverDevices(ctx context.Context, g Group, device *driver.Context) (Group, error) {
	d, err := overDevices(ctx, g, device)
	if err != nil {
		err = fmt.Errorf("group %s on GPUs: %w", g.Name(), err)
		g.Abort(err)
		return nil, err
	}
	return d, nil
}

func overDevices(ctx context.Context, g Group, device *driver.Context) (*devices, error) {
	lib, err := nccl.Open()
	if err != nil {
		return nil, err
	}
	if v := preflight.Remembered(); v != nil && !v.Direct {
		if err := nccl.DisableP2P(); err != nil {
			return nil, err
		}
	}
	var id nccl.ID
	if g.Rank() == 0 {
		if id, err = lib.NewID(); err != nil {
			return nil, err
		}
	}
	if id, err = shareID(ctx, g, id); err != nil {
		return nil, err
	}
	comm, err := lib.Join(ctx, device, id, g.Rank(), g.Size())
	if err != nil {
		return nil, err
	}
	return &devices{Group: g, comm: comm}, nil
}

// shareID gives all ranks the ID that rank 0 has made.
func shareID(ctx context.Context, g Group, id nccl.ID) (nccl.ID, error) {
	t, err := tensor.Zeros(tensor.I32, len(id)/4)
	if err != nil {
		return id, err
	}
	words := t.Int32()
	for i := range words {
		words[i] = int32(binary.LittleEndian.Uint32(id[4*i:]))
	}
	err = g.Broadcast(ctx, 0, t)
	for i, word := range words {
		binary.LittleEndian.PutUint32(id[4*i:], uint32(word))
	}
	return id, err
}

// NCCL is the communicator, for programs.
func (d *devices) NCCL() *nccl.Comm { return d.comm }

// Abort implements [Group]. What devices wait for ends by itself a little later.
func (d *devices) Abort(cause error) {
	d.Group.Abort(cause)
	d.comm.Abort(cause)
	if d.mailboxes != nil {
		d.mailboxes.Abort(cause)
	}
}

// closeLimit bounds the wait for the operations of this rank.
const closeLimit = 5 * time.Second

// Close implements [Group]. Programs with work of the group are closed before: NCCL waits
// for their graphs, and gives up after closeLimit with an error.
func (d *devices) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	err := errors.Join(d.comm.Close(ctx), d.Group.Close())
	if d.mailboxes != nil {
		err = errors.Join(err, d.mailboxes.Close())
	}
	return err
}
