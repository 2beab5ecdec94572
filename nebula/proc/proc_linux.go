package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

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

// Signal reaches exactly this process, if it runs: the descriptor holds on to it while
// the time of its start is compared.
func (id ID) Signal(s unix.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil
	case err != nil:
		return err
	}
	defer unix.Close(fd)
	if !id.Alive() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, s, nil, 0); !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// Watch holds on to a process. The returned function waits for its end, once.
func Watch(pid int) (awaitEnd func(), err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	return func() {
		defer unix.Close(fd)
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if err != unix.EINTR {
				return
			}
		}
	}, nil
}

// AwaitEnd returns when a child has ended, and leaves it to be collected.
func AwaitEnd(child int) {
	for {
		if err := unix.Waitid(unix.P_PID, child, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}

// Numbers of fields behind the name, which may itself hold spaces and brackets.
const (
	fieldState, fieldParent, fieldGroup = 0, 1, 2
	fieldUser, fieldSystem, fieldStart  = 11, 12, 19
	fieldThreads, fieldPages            = 17, 21
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
	s.Threads = int(signed(fields[fieldThreads]))
	return s, err
}
