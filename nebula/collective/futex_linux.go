package collective

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Operations of futex(2) on memory that processes share.
const (
	futexOpWait = 0
	futexOpWake = 1
)

// futexWait sleeps while the word is what was seen, at most for d.
func futexWait(word *atomic.Uint32, seen uint32, d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	// Every result means that the caller has to look again.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWait, uintptr(seen),
		uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// futexWake wakes all who sleep on the word.
func futexWake(word *atomic.Uint32) {
	const all = 1<<31 - 1
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWake, all, 0, 0, 0)
}

// yield lets other processes have this processor, if any wants it, and meanwhile
// other goroutines of this one their turn.
func yield() { _, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
