// Package proc reads what Linux says of processes in /proc.
//
// A process number alone names nobody for long: numbers are used again. A
// number together with the time at which the process started, [ID], does.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// ID names one process among all since the machine was started.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since the machine was started
}

// Stat is a part of /proc/PID/stat.
type Stat struct {
	ID
	Name   string // of the program, at most 15 bytes
	State  byte   // as ps shows it: R, S, D, T, Z, ...
	Parent int
	Group  int
	User   uint64 // clock ticks of processor time outside the kernel
	System uint64 // and inside
	Pages  int64  // resident memory
}

// Dead reports whether the process has ended and only waits to be collected.
func (s Stat) Dead() bool { return s.State == 'Z' || s.State == 'X' }

// Read returns what is known of a process. The error of one that does not exist
// is fs.ErrNotExist.
func Read(pid int) (Stat, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return Stat{}, err
	}
	s, err := Parse(text)
	if err != nil {
		return Stat{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// List returns all processes, in no order. Those that end meanwhile are left out.
func List() ([]Stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var list []Stat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := Read(pid); err == nil {
			list = append(list, s)
		}
	}
	return list, nil
}

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

// Numbers of fields behind the name, which may itself hold spaces and brackets.
const (
	fieldState, fieldParent, fieldGroup = 0, 1, 2
	fieldUser, fieldSystem, fieldStart  = 11, 12, 19
	fieldPages                          = 21
)

// Parse reads "pid (name) state parent group ...".
func Parse(text []byte) (Stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return Stat{}, fmt.Errorf("no name in brackets")
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= fieldPages || len(fields[fieldState]) != 1 {
		return Stat{}, fmt.Errorf("%d fields behind the name, not at least %d", len(fields), fieldPages+1)
	}
	s := Stat{Name: string(text[open+1 : end]), State: fields[fieldState][0]}
	var err error
	signed := func(text []byte) int64 {
		n, bad := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
		if err == nil {
			err = bad
		}
		return n
	}
	s.PID = int(signed(text[:open]))
	s.Parent, s.Group = int(signed(fields[fieldParent])), int(signed(fields[fieldGroup]))
	s.User, s.System = uint64(signed(fields[fieldUser])), uint64(signed(fields[fieldSystem]))
	s.Start, s.Pages = uint64(signed(fields[fieldStart])), signed(fields[fieldPages])
	return s, err
}
