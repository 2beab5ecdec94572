package launch

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/nebula/proc"
)

// parent starts a process that starts ranks, and returns it with those ranks.
func parent(t *testing.T, n int, how string) (*exec.Cmd, []proc.ID) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "parent", how, strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	var ranks []proc.ID
	for lines := bufio.NewScanner(out); len(ranks) < n && lines.Scan(); {
		var id proc.ID
		if _, err := fmt.Sscan(lines.Text(), &id.PID, &id.Start); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		ranks = append(ranks, id)
	}
	if len(ranks) != n {
		t.Fatalf("%d of %d ranks were started", len(ranks), n)
	}
	return cmd, ranks
}

// Ranks do not survive a parent that is killed, whatever they do, and the next
// start removes what it left.
func TestKilledParent(t *testing.T) {
	for _, how := range []string{"wait", "stubborn", "compute", "stopped"} {
		t.Run(how, func(t *testing.T) {
			f := folder(t)
			does := how
			if how == "stopped" {
				does = "wait"
			}
			cmd, ranks := parent(t, 2, does)
			if how == "stopped" {
				syscall.Kill(ranks[1].PID, syscall.SIGSTOP)
			}
			cmd.Process.Kill()
			cmd.Wait()
			for _, id := range ranks {
				waitUntilGone(t, id)
			}
			if jobs, err := f.Jobs(); err != nil || len(jobs) != 1 || !jobs[0].Orphaned() || len(jobs[0].Ranks) != 2 {
				t.Fatalf("%+v, %v", jobs, err)
			}
			r, _ := start(t, 1, "wait")
			if jobs, err := f.Jobs(); err != nil || len(jobs) != 1 || jobs[0].Job != r.Job() || jobs[0].Orphaned() {
				t.Errorf("%+v, %v", jobs, err)
			}
		})
	}
}

// Without the parent-death signal, as some sandboxes have it, the control channel
// is enough: also in a rank that computes in C.
func TestControlChannelAlone(t *testing.T) {
	folder(t)
	r, all := start(t, 1, "compute")
	ours := r.procs[0].channel.file
	raw, err := ours.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	// As the end of this process would, and without telling the rank anything else.
	raw.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	if e := next(t, r); e.Signal != unix.SIGKILL {
		t.Errorf("process %d: %+v", all[0].PID, e)
	}
}

// A parent that is killed in the middle of a start leaves nothing either.
func TestParentKilledAtRandom(t *testing.T) {
	f := folder(t)
	points := 5
	if testing.Short() {
		points = 2
	}
	if n, err := strconv.Atoi(os.Getenv("NEBULA_FAULT_POINTS")); err == nil && n > 0 {
		points = n
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range points {
		cmd := exec.Command(os.Args[0], "parent", "wait", "4")
		// Its descendants are known by this, after it has gone.
		mark := "NEBULA_TEST_MARK=" + t.TempDir()
		cmd.Env = append(os.Environ(), mark)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.IntN(40_000)) * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait()
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			left := marked(mark)
			if len(left) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("still there: %v", left)
			}
		}
	}
	if _, err := f.Reap(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(string(f)); err != nil || len(entries) != 0 {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
}

// marked are the processes that have a pair in their environment.
func marked(pair string) []int {
	var pids []int
	list, _ := proc.List()
	for _, p := range list {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err == nil && strings.Contains("\x00"+string(env), "\x00"+pair+"\x00") && p.Alive() {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// orphan records a process as the rank of a parent that has gone.
func orphan(t *testing.T, f Folder, job string, rank proc.ID) Record {
	t.Helper()
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	r := Record{Job: job, Parent: proc.ID{PID: self.PID, Start: self.Start + 1}, Ranks: []proc.ID{rank}}
	if r.Dir, err = f.Create(r); err != nil {
		t.Fatal(err)
	}
	return r
}

// sleeper is a process of nobody's job.
func sleeper(t *testing.T) proc.ID {
	t.Helper()
	cmd := exec.Command("sleep", "4242")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-done })
	stat, err := proc.Read(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return stat.ID
}

// A rank that no other layer ended is ended by its record; a process that only
// has its number is not touched.
func TestReap(t *testing.T) {
	f := folder(t)
	rank, stranger := sleeper(t), sleeper(t)
	orphan(t, f, "lost", rank)
	orphan(t, f, "reused", proc.ID{PID: stranger.PID, Start: stranger.Start - 1})
	start(t, 1, "wait", func(s *Spec) { s.Job = "mine" }) // reaps
	waitUntilGone(t, rank)
	if !stranger.Alive() {
		t.Error("a process that only has the number of a rank was ended")
	}
	jobs, err := f.Jobs()
	if err != nil || len(jobs) != 1 || jobs[0].Job != "mine" {
		t.Errorf("%+v, %v", jobs, err)
	}
}

// Numbers of another boot or namespace mean nothing here.
func TestReapElsewhere(t *testing.T) {
	f := folder(t)
	stranger := sleeper(t)
	for job, replace := range map[string][2]string{"boot": {`"boot":"`, `"boot":"x`}, "namespace": {`"namespace":"`, `"namespace":"x`}} {
		r := orphan(t, f, job, stranger)
		path := filepath.Join(r.Dir, recordName)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), replace[0], replace[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reaped, err := f.Reap()
	if err != nil || len(reaped) != 1 || reaped[0].Job != "boot" || !stranger.Alive() {
		t.Errorf("%+v, %v, alive %t", reaped, err, stranger.Alive())
	}
	if _, err := f.Kill(t.Context(), "namespace"); err == nil || !stranger.Alive() {
		t.Errorf("error %v, alive %t", err, stranger.Alive())
	}
}

func TestKill(t *testing.T) {
	f := folder(t)
	r, _ := start(t, 2, "wait", func(s *Spec) { s.Job = "doomed" })
	n, err := f.Kill(t.Context(), "doomed")
	if n != 2 || err != nil {
		t.Errorf("%d ranks, %v", n, err)
	}
	for range 2 {
		if e := next(t, r); e.Code != 0 { // they heard SIGTERM
			t.Errorf("%+v", e)
		}
	}
	r, _ = start(t, 1, "stubborn", func(s *Spec) { s.Job = "deaf" })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := f.Kill(ctx, "deaf"); n != 1 || err != nil {
		t.Errorf("%d ranks, %v", n, err)
	}
	if e := next(t, r); e.Signal != syscall.SIGKILL {
		t.Errorf("%+v", e)
	}
	for _, job := range []string{"nobody", "../x", "", ".."} {
		if n, err := f.Kill(t.Context(), job); err == nil || n != 0 {
			t.Errorf("%q: %d, %v", job, n, err)
		}
	}
}

// What is no record stays, is named, and does not keep jobs from starting.
func TestBrokenRecords(t *testing.T) {
	f := folder(t)
	for name, text := range map[string]string{"broken": "{", "later": `{"version":2}`, "init": `{"version":1,"parent":{"pid":5},"ranks":[{"pid":1}]}`} {
		dir := filepath.Join(string(f), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, recordName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := f.Reap()
	for _, name := range []string{"broken", "later", "init"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
	start(t, 1, "wait")
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"version":1,"parent":{"pid":5,"start":1},"ranks":[{"pid":7,"start":2}]}`))
	f.Add([]byte(`{"version":1,"parent":{"pid":-5},"ranks":[{"pid":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRecord(text, "dir")
		if err != nil {
			return
		}
		for _, id := range r.Ranks {
			if id.PID <= 1 {
				t.Errorf("%q: rank %d", text, id.PID)
			}
		}
	})
}

// A folder that others can write to could make us end anything.
func TestForeignFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	path := filepath.Join(dir, "nebula")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	os.Chmod(path, 0o777)
	if _, err := OpenFolder(); err == nil || !strings.Contains(err.Error(), "this user alone") {
		t.Errorf("open to all: %v", err)
	}
	os.Remove(path)
	if err := os.Symlink(t.TempDir(), path); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Spec{Ranks: 1}); err == nil || !strings.Contains(err.Error(), "this user alone") {
		t.Errorf("a link: %v", err)
	}
}

// Descriptor 3 must be what it is said to be.
func TestAttachWithoutChannel(t *testing.T) {
	cmd := exec.Command(os.Args[0], "rank", "wait")
	cmd.Env = append(os.Environ(), controlVariable+"=3")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "not a control channel") {
		t.Errorf("%v: %s", err, out)
	}
}
