package proc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

const line = "4242 (a) b (c) S 7 4242 4242 0 -1 4194560 10 0 0 0 31 17 0 0 20 0 5 0 987654 1000000 321 18446744073709551615 1 1 0\n"

func TestParse(t *testing.T) {
	got, err := Parse([]byte(line))
	want := Stat{ID: ID{4242, 987654}, Name: "a) b (c", State: 'S', Parent: 7, Group: 4242, User: 31, System: 17, Pages: 321, Threads: 5}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"", "1 (x", "1 ) (", "1 (x) S 2 3", "x" + line, "1 (x) SS" + line[len("4242 (a) b (c) S"):]} {
		if got, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line))
	f.Add([]byte("1 (x) S 2 3"))
	f.Fuzz(func(t *testing.T, text []byte) { Parse(text) })
}

// The test binary is also a process whose first thread ends before the others.
func init() {
	if os.Getenv("PROC_TEST_HEADLESS") != "" {
		runtime.LockOSThread() // which is the first, in init
		syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

// A process lives as long as any of its threads, whatever has become of the first.
func TestAliveWithoutFirstThread(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_HEADLESS=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	var child Stat
	for child.State != 'Z' { // the test's time limit is the only one
		var err error
		if child, err = Read(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if !child.ID.Alive() {
		t.Errorf("a process of %d threads is taken for dead", child.Threads)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if child.ID.Alive() {
		t.Error("a process that was killed is taken for alive")
	}
}

// A process is itself until it has ended, also while nobody has collected it.
func TestAlive(t *testing.T) {
	self, err := Self()
	if err != nil || self.PID != os.Getpid() || !self.Alive() {
		t.Fatalf("%+v, %v", self, err)
	}
	if (ID{self.PID, self.Start + 1}).Alive() {
		t.Error("a process with this number that started at another time is taken for alive")
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child, err := Read(cmd.Process.Pid)
	if err != nil || child.Parent != os.Getpid() || !child.Alive() {
		t.Errorf("child %+v, %v", child, err)
	}
	list, err := List()
	if err != nil || !slices.ContainsFunc(list, func(s Stat) bool { return s.ID == child.ID }) {
		t.Errorf("the child is not among %d processes, %v", len(list), err)
	}
	in.Close()
	cmd.Wait()
	if child.Alive() {
		t.Error("a child that was collected is alive")
	}
	if _, err := Read(cmd.Process.Pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
