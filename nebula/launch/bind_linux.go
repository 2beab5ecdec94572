package launch

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Processors are those that the calling thread may use.
func Processors() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("the processors of this process: %w", err)
	}
	return members(&set), nil
}

// Keep gives the calling goroutine a thread of its own, to its end, which may use
// these processors: others than the process, if that is bound.
func Keep(processors []int) error {
	runtime.LockOSThread()
	if err := unix.SchedSetaffinity(0, setOf(processors)); err != nil {
		return fmt.Errorf("keeping a thread to processors %v: %w", processors, err)
	}
	return nil
}

func setOf(processors []int) *unix.CPUSet {
	set := new(unix.CPUSet)
	for _, n := range processors {
		set.Set(n)
	}
	return set
}

// members are the processors of a set.
func members(set *unix.CPUSet) []int {
	var list []int
	for n := range 64 * len(set) {
		if set.IsSet(n) {
			list = append(list, n)
		}
	}
	return list
}

// bindThreads binds all threads of this process. New ones are bound as the thread is
// that makes them, so that there are no others once a look finds none.
func bindThreads(processors []int) (bool, error) {
	set := setOf(processors)
	bound := make(map[int]bool)
	for {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return false, err
		}
		found := false
		for _, t := range tasks {
			id, err := strconv.Atoi(t.Name())
			if err != nil || bound[id] {
				continue
			}
			if err := unix.SchedSetaffinity(id, set); err != nil && !errors.Is(err, unix.ESRCH) {
				return false, err
			}
			found, bound[id] = true, true
		}
		if !found {
			return true, nil
		}
	}
}
