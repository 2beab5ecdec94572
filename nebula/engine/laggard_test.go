package engine

import (
	"errors"
	"fmt"
	"testing"

	"forgekernel/nebula/collective"
	"forgekernel/nebula/shard"
)

// waitingGroup is one in which a rank waits for another.
type waitingGroup struct {
	collective.Group
	waits int
}

func (g waitingGroup) Rank() int               { return 0 }
func (g waitingGroup) Stats() collective.Stats { return collective.Stats{Waits: g.waits} }

// TestLaggard follows who waits for whom, in two stages of two ranks.
func TestLaggard(t *testing.T) {
	const none = -1
	for name, c := range map[string]struct {
		executes [4]bool
		waits    [4]int
		want     int
	}{
		"rank 0 computes":              {[4]bool{true, true, true, true}, [4]int{none, 0, 0, 1}, 0},
		"its neighbour does":           {[4]bool{true, true, true, true}, [4]int{1, none, 0, 1}, 1},
		"the last rank does":           {[4]bool{false, false, true, true}, [4]int{none, none, 3, none}, 3},
		"at third hand":                {[4]bool{false, false, true, true}, [4]int{none, none, 3, 1}, 1},
		"a circle":                     {[4]bool{false, false, true, true}, [4]int{none, none, 3, 2}, 2},
		"the step does not begin":      {[4]bool{}, [4]int{2, none, none, none}, 2},
		"its results do not come back": {[4]bool{}, [4]int{none, none, none, none}, 0},
	} {
		l := &Leader{self: &rank{groups: &groups{}}, peers: make([]*peer, 4)}
		group := waitingGroup{waits: c.waits[0]}
		if l.self.busy.Store(c.executes[0]); c.executes[0] {
			l.self.groups.tp = group
		} else {
			l.self.groups.agree = group
		}
		for r := 1; r < 4; r++ {
			l.peers[r] = newPeer(newConn(nil, 0, 0, r))
			if l.peers[r].waits = c.waits[r]; c.executes[r] {
				l.peers[r].state.State = "running"
			}
		}
		if got := l.laggard(); got != c.want {
			t.Errorf("%s: rank %d is blamed, not rank %d", name, got, c.want)
		}
	}
}

// TestOverdueStep hangs each rank in turn, where the others have more time to wait for it
// than rank 0 has for the step: it is the rank that hangs which is blamed, not the first
// one that executes.
func TestOverdueStep(t *testing.T) {
	l := shard.Layout{TP: 2, PP: 2}
	for hung := range l.Ranks() {
		t.Run(fmt.Sprintf("rank %d", hung), func(t *testing.T) {
			t.Parallel()
			c, err := start(t, l, injury{rank: hung, backend: newFuse("hang in a kernel", 1), timeout: patience})
			if err != nil {
				t.Fatal(err)
			}
			err = c.work(t.Context())
			cause := (*Error)(nil)
			if !errors.As(err, &cause) || cause.Rank != hung || cause.Op != opExecute || !errors.Is(err, collective.ErrTimeout) {
				t.Errorf("error %v", err)
			}
			if err := c.Close(); !errors.Is(err, cause) {
				t.Errorf("Close: %v", err)
			}
			c.allFailed(t)
		})
	}
}
