package job

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"forgekernel/nebula/proc"
)

// holdings are what the processes of a job have that could be left.
type holdings struct {
	folder  string
	sockets []string // inodes of all kinds
}

func holdingsOf(p *Processes) holdings {
	h := holdings{folder: p.Ranks().Dir()}
	for rank := range p.Ranks().Size() {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Ranks().Process(rank).PID))
		for _, fd := range fds {
			if name, err := os.Readlink(fd); err == nil && strings.HasPrefix(name, "socket:[") {
				h.sockets = append(h.sockets, strings.Trim(name, "socket:[]"))
			}
		}
	}
	return h
}

// left is what there is still of a job.
func (h holdings) left(mark string) []string {
	list := marked(mark)
	if _, err := os.Stat(h.folder); err == nil {
		list = append(list, h.folder)
	}
	for _, table := range []string{"unix", "tcp", "tcp6"} {
		text, _ := os.ReadFile("/proc/self/net/" + table)
		for line := range strings.Lines(string(text)) {
			for _, inode := range h.sockets {
				if strings.Contains(" "+strings.TrimSpace(line)+" ", " "+inode+" ") {
					list = append(list, table+" "+line)
				}
			}
		}
	}
	named, _ := filepath.Glob("/dev/shm/*nebula*")
	return append(list, named...)
}

// nothingOf waits until nothing is left of a job.
func nothingOf(t *testing.T, mark string, h holdings) {
	t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		left := h.left(mark)
		if len(left) == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Errorf("there is still: %v", left)
			return
		}
	}
}

// marked are the processes whose environment has a variable.
func marked(pair string) []string {
	var found []string
	list, _ := proc.List()
	for _, p := range list {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err == nil && strings.Contains("\x00"+string(env), "\x00"+pair+"\x00") && p.Alive() && p.PID != syscall.Getpid() {
			found = append(found, fmt.Sprint("process ", p.PID))
		}
	}
	return found
}
