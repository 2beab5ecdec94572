package collective

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"forgekernel/forge/backend/cuda/peer"
)

// onRanks does something on all ranks of a group of this process.
func onRanks(t *testing.T, n int, do func(rank int, g Group) error) {
	t.Helper()
	var all sync.WaitGroup
	for rank, g := range Local(n, Options{}) {
		all.Go(func() {
			defer g.Close()
			if err := errors.Join(do(rank, g), g.Barrier(t.Context())); err != nil {
				t.Errorf("rank %d: %v", rank, err)
			}
		})
	}
	all.Wait()
}

// TestShareTickets gives each rank those of all, as they were.
func TestShareTickets(t *testing.T) {
	ticket := func(rank int) (k peer.Ticket) {
		for i := range k.Handle {
			k.Handle[i] = byte(rank*64 + 3*i)
		}
		k.Name[0], k.Host[15] = byte(rank+1), 255
		return k
	}
	onRanks(t, 3, func(rank int, g Group) error {
		list, err := shareTickets(t.Context(), g, ticket(rank))
		for i := range list {
			if list[i] != ticket(i) {
				return fmt.Errorf("ticket %d is %+v", i, list[i])
			}
		}
		return err
	})
}

// TestAll sees that all ranks know when one of them has a reason.
func TestAll(t *testing.T) {
	onRanks(t, 3, func(rank int, g Group) error {
		d := &devices{Group: g}
		if why, err := d.agreed(t.Context(), nil); why != nil || err != nil {
			return fmt.Errorf("without a reason: %v, %v", why, err)
		}
		var mine error
		if rank == 1 {
			mine = errors.New("the bus is broken")
		}
		why, err := d.agreed(t.Context(), mine)
		want := "that fails on rank 1"
		if rank == 1 {
			want = "the bus is broken"
		}
		if err != nil || why == nil || why.Error() != want {
			return fmt.Errorf("%v, %v; want %s", why, err, want)
		}
		return nil
	})
}

// TestByMailbox is about groups without devices, and about hosts that say no.
func TestByMailbox(t *testing.T) {
	onRanks(t, 2, func(_ int, g Group) error {
		if err := ByMailbox(t.Context(), g, nil); err == nil || !strings.Contains(err.Error(), "no devices") {
			return fmt.Errorf("a group without devices: %v", err)
		}
		return nil
	})
	t.Setenv("NCCL_P2P_DISABLE", "1")
	onRanks(t, 2, func(_ int, g Group) error {
		d := &devices{Group: g}
		if err := ByMailbox(t.Context(), d, nil); err != nil {
			return err
		}
		if m, why := d.Peer(); m != nil || why != "NCCL_P2P_DISABLE is set" {
			return fmt.Errorf("%v, %q", m, why)
		}
		return nil
	})
}
