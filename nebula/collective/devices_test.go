package collective

import (
	"errors"
	"testing"

	"forgekernel/forge/backend/cuda/nccl"
)

// TestShareID gives all ranks of a group the ID of the first.
func TestShareID(t *testing.T) {
	const ranks = 3
	var id nccl.ID
	for i := range id {
		id[i] = byte(200 + 3*i)
	}
	got, failures := make([]nccl.ID, ranks), make(chan error, ranks)
	for rank, g := range Local(ranks, Options{}) {
		go func() {
			defer g.Close()
			own := nccl.ID{1: byte(rank)}
			if rank == 0 {
				own = id
			}
			var err error
			got[rank], err = shareID(t.Context(), g, own)
			failures <- errors.Join(err, g.Barrier(t.Context()))
		}()
	}
	for range ranks {
		if err := <-failures; err != nil {
			t.Fatal(err)
		}
	}
	for rank := range got {
		if got[rank] != id {
			t.Errorf("rank %d has another ID", rank)
		}
	}
}
