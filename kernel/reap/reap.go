// Package reap ends every process that a process started, directly or not.
//
// A killed process leaves its own children behind, and a shell leaves its
// background commands; a process group or session does not hold those that
// made one of their own. A process that called [Adopt] inherits all such
// orphans, so that the tree of /proc below it holds everything that was ever
// started in its name, and [Descendants] can end it. The front calls Adopt to
// clean up after a session that crashed, the session to clean up after itself.
package reap

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/nebula/proc"
)

// rounds bounds how often the tree is found to have grown. Killed processes start
// nothing, so each reading leaves only what was started while it read. patience is
// for those that were killed: a busy machine may not come to end them soon.
const (
	rounds   = 100
	patience = 10 * time.Second
)

// Descendants kills everything below the calling process. It returns when a
// reading of the tree shows nothing alive. Zombies are left for their parents
// to collect.
func Descendants() error {
	killed := map[int]bool{}
	for left, end := rounds, time.Now().Add(patience); left > 0; {
		procs, err := proc.List()
		if err != nil {
			return err
		}
		below := tree(procs, os.Getpid())
		if len(below) == 0 {
			return nil
		}
		grown := false
		for _, pid := range below {
			unix.Kill(pid, unix.SIGKILL) // ESRCH: it has ended meanwhile
			grown = grown || !killed[pid]
			killed[pid] = true
		}
		switch {
		case grown:
			left--
		case time.Now().After(end):
			return fmt.Errorf("%d processes were killed and do not end", len(below))
		default:
			time.Sleep(time.Millisecond)
		}
	}
	return fmt.Errorf("processes keep being started after %d rounds of ending them", rounds)
}

// tree returns the live descendants of root.
func tree(procs []proc.Stat, root int) []int {
	children := make(map[int][]proc.Stat)
	for _, p := range procs {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var below []int
	seen := map[int]bool{root: true}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, p := range children[next[0]] {
			if seen[p.PID] { // pids were reused while the table was read
				continue
			}
			seen[p.PID] = true
			next = append(next, p.PID)
			if !p.Dead() {
				below = append(below, p.PID)
			}
		}
	}
	return below
}
