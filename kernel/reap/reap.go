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
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Adopt makes the calling process the parent of its orphaned descendants.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphaned processes: %w", err)
	}
	return nil
}

// rounds bounds how often the tree is read. Killed processes start nothing, so
// each round leaves only what was started while it read.
const rounds = 100

// Descendants kills everything below the calling process. It returns when a
// reading of the tree shows nothing alive. Zombies are left for their parents
// to collect.
func Descendants() error {
	for range rounds {
		procs, err := list()
		if err != nil {
			return err
		}
		below := tree(procs, os.Getpid())
		if len(below) == 0 {
			return nil
		}
		for _, pid := range below {
			unix.Kill(pid, unix.SIGKILL) // ESRCH: it has ended meanwhile
		}
	}
	return fmt.Errorf("processes keep being started after %d rounds of ending them", rounds)
}

// process is what /proc says of one.
type process struct {
	pid, parent int
	dead        bool // a zombie or about to be one
}

// tree returns the live descendants of root.
func tree(procs []process, root int) []int {
	children := make(map[int][]process)
	for _, p := range procs {
		children[p.parent] = append(children[p.parent], p)
	}
	var below []int
	seen := map[int]bool{root: true}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, p := range children[next[0]] {
			if seen[p.pid] { // pids were reused while the table was read
				continue
			}
			seen[p.pid] = true
			next = append(next, p.pid)
			if !p.dead {
				below = append(below, p.pid)
			}
		}
	}
	return below
}

func list() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var procs []process
	for _, name := range names {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil { // it has ended meanwhile
			continue
		}
		if p, ok := parseStat(stat); ok {
			procs = append(procs, p)
		}
	}
	return procs, nil
}

// parseStat reads "pid (name) state ppid …"; the name may hold anything.
func parseStat(stat []byte) (process, bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(stat[:open])))
	if err != nil {
		return process{}, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 2 || len(fields[0]) != 1 {
		return process{}, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return process{}, false
	}
	state := fields[0][0]
	return process{pid: pid, parent: parent, dead: state == 'Z' || state == 'X'}, true
}
