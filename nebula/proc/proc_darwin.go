package proc

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Read returns what is known of a process. The error of one that does not exist
// is fs.ErrNotExist.
func Read(pid int) (Stat, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	switch {
	case errors.Is(err, unix.EIO): // the system has nothing to tell
		return Stat{}, fs.ErrNotExist
	case err != nil:
		return Stat{}, err
	}
	return stat(info), nil
}

// List returns all processes, in no order.
func List() ([]Stat, error) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	list := make([]Stat, len(infos))
	for i := range infos {
		list[i] = stat(&infos[i])
	}
	return list, nil
}

// states are the letters of ps for the numbers of <sys/proc.h>, from 1 on.
const states = "IRSTZ"

func stat(info *unix.KinfoProc) Stat {
	p := &info.Proc
	s := Stat{
		ID:     ID{int(p.P_pid), uint64(p.P_starttime.Sec)*1e6 + uint64(p.P_starttime.Usec)},
		Name:   unix.ByteSliceToString(p.P_comm[:]),
		Parent: int(info.Eproc.Ppid),
		Group:  int(info.Eproc.Pgid),
	}
	if n := int(p.P_stat); n > 0 && n <= len(states) {
		s.State = states[n-1]
	}
	return s
}

// Signal reaches this process, if it runs. The system has no descriptors of processes, so
// its number could come to belong to another just before.
func (id ID) Signal(s unix.Signal) error {
	if !id.Alive() {
		return nil
	}
	if err := unix.Kill(id.PID, s); !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// Watch holds on to a process. The returned function waits for its end, once.
func Watch(pid int) (awaitEnd func(), err error) {
	queue, err := unix.Kqueue()
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(queue)
	change := []unix.Kevent_t{{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD, Fflags: unix.NOTE_EXIT}}
	if _, err := unix.Kevent(queue, change, nil, nil); err != nil {
		unix.Close(queue)
		return nil, err
	}
	return func() {
		defer unix.Close(queue)
		for {
			if _, err := unix.Kevent(queue, nil, make([]unix.Kevent_t, 1), nil); err != unix.EINTR {
				return
			}
		}
	}, nil
}

// AwaitEnd returns when a child has ended, and leaves it to be collected.
func AwaitEnd(child int) {
	if end, err := Watch(child); err == nil { // else it has ended already
		end()
	}
}
