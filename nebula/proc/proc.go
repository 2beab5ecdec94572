// Package proc reads what the system says of processes, and passes sockets and
// signals to exactly those that are meant.
//
// A process number alone names nobody for long: numbers are used again. A
// number together with the time at which the process started, [ID], does.
package proc

import "os"

// ID names one process among all since the machine was started.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // on Linux clock ticks since the machine was started, on macOS microseconds since 1970
}

// Stat is what is known of a process. macOS tells of the processor time and memory of
// others to a debugger only; there these are 0.
type Stat struct {
	ID
	Name   string // of the program, at most 15 bytes
	State  byte   // as ps shows it: R, S, D, T, Z, ...
	Parent int
	Group  int
	User   uint64 // clock ticks of processor time outside the kernel
	System uint64 // and inside
	Pages  int64  // resident memory
	// Threads are 0 where the system does not tell. The state is that of the first:
	// the others may go on when it has ended.
	Threads int
}

// Dead reports whether the process has ended and only waits to be collected.
func (s Stat) Dead() bool { return (s.State == 'Z' || s.State == 'X') && s.Threads <= 1 }

// Alive reports whether exactly this process runs. One that waits to be
// collected does not.
func (id ID) Alive() bool {
	s, err := Read(id.PID)
	return err == nil && s.Start == id.Start && !s.Dead()
}

// Self is the calling process.
func Self() (ID, error) {
	s, err := Read(os.Getpid())
	return s.ID, err
}
