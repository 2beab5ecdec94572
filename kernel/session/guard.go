package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/kernel/link"
	"forgekernel/kernel/reap"
	"forgekernel/nebula"
)

// maxStack is where endless recursion ends, in bytes. Go's own limit of 1 GiB
// would first fill the memory of a small machine.
const maxStack = 256 << 20

// jobsTime is how long the ranks of jobs may take to leave by themselves and remove
// their records. The front waits little longer for the session.
const jobsTime = 200 * time.Millisecond

// guard prepares the process for code that does anything: the runtime's last
// words go to the crash file, orphans of the session's children become its own,
// descriptors of the front are not passed on, and the signals of a terminal
// belong to the front, which turns them into frames.
func guard() (*link.Conn, error) {
	for _, fd := range []int{LinkFD, CrashFD} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return nil, fmt.Errorf("descriptor %d is not open; a session is started by forge kernel: %w", fd, err)
		}
	}
	crash := os.NewFile(CrashFD, "crash report")
	if err := debug.SetCrashOutput(crash, debug.CrashOptions{}); err != nil {
		return nil, fmt.Errorf("crash report: %w", err)
	}
	crash.Close() // the runtime has made a copy
	if err := unix.SetNonblock(LinkFD, true); err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	debug.SetMaxStack(maxStack)
	paceCollector()
	if err := reap.Adopt(); err != nil {
		return nil, err
	}
	// Caught and dropped, not ignored: commands would inherit that.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGHUP)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM)
	go func() {
		<-signals
		reap.Descendants()
		signal.Reset(unix.SIGTERM) // its end says what it died of
		unix.Kill(os.Getpid(), unix.SIGTERM)
	}()
	return link.NewConn(os.NewFile(LinkFD, "link")), nil
}

// end ends everything that the session has started. Cells may still run; they
// end with the process.
func (s *server) end(err error) error {
	s.interp.Close()
	closed := make(chan struct{})
	go func() {
		nebula.CloseAll() // what it cannot end, Descendants does
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(jobsTime):
	}
	if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
		err = nil
	}
	return errors.Join(err, reap.Descendants())
}
