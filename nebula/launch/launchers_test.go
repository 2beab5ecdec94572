package launch

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// launcherTime bounds a launcher, which may import half of Python first.
const launcherTime = 2 * time.Minute

// under runs ranks of this binary below a launcher and returns what they printed.
func under(t *testing.T, env, argv []string, how string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), launcherTime)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, argv[0], append(slices.Clone(argv[1:]), self, "rank", how)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%v did not end within %s:\n%s", argv, launcherTime, out)
	}
	return string(out), err
}

// checkLauncher runs three ranks that say their place, and three of which one
// fails: the launcher ends the others, by SIGTERM, and nobody stays.
func checkLauncher(t *testing.T, env []string, argv ...string) {
	t.Helper()
	out, err := under(t, env, argv, "place")
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	checkPlaces(t, out, 3)
	mark := "NEBULA_TEST_MARK=" + t.TempDir()
	if out, err := under(t, append(env, mark), argv, "last fails"); err == nil {
		t.Errorf("%v hides the failure of a rank:\n%s", argv, out)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := marked(mark)
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %v", left)
		}
	}
}

// checkPlaces demands that every rank of n said its place, all of one job, and met
// the others.
func checkPlaces(t *testing.T, out string, n int) {
	t.Helper()
	var ranks []int
	jobs := map[string]bool{}
	for line := range strings.Lines(out) {
		var rank, size, local, localSize, sum int
		var job string
		if _, err := fmt.Sscanf(line, "place %d/%d local %d/%d job %s sum %d", &rank, &size, &local, &localSize, &job, &sum); err != nil {
			continue // the launcher's own words
		}
		if size != n || localSize != n || local != rank || sum != n*(n+1)/2 {
			t.Errorf("%s", line)
		}
		ranks = append(ranks, rank)
		jobs[job] = true
	}
	slices.Sort(ranks)
	if len(ranks) != n || ranks[0] != 0 || ranks[n-1] != n-1 || len(slices.Compact(ranks)) != n || len(jobs) != 1 {
		t.Errorf("ranks %v of jobs %v:\n%s", ranks, jobs, out)
	}
}

// installed finds the programs of a launcher, or skips the test.
func installed(t *testing.T, names ...string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("launchers take seconds to start")
	}
	var paths []string
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is not installed", name)
		}
		paths = append(paths, path)
	}
	return paths
}

// Ranks of our own meet as those of a launcher do.
func TestRanksMeet(t *testing.T) {
	folder(t)
	r, _ := start(t, 3, "place")
	var out strings.Builder
	for range 3 {
		e := next(t, r)
		if e.Code != 0 {
			t.Error(e)
		}
		out.WriteString(e.Output)
	}
	checkPlaces(t, out.String(), 3)
}

func TestUnderMpirun(t *testing.T) {
	mpirun := installed(t, "mpirun")[0]
	version, _ := exec.Command(mpirun, "--version").Output()
	if !bytes.Contains(version, []byte("Open MPI")) && !bytes.Contains(version, []byte("OpenRTE")) {
		t.Skip("mpirun is not Open MPI's: its options differ")
	}
	checkLauncher(t, nil, mpirun, "--allow-run-as-root", "--oversubscribe", "-np", "3")
}

// PyTorch is large; "make peers" installs it, and this test is told where.
func TestUnderTorchrun(t *testing.T) {
	python := os.Getenv("NEBULA_TEST_TORCH_PYTHON")
	if python == "" {
		t.Skip("NEBULA_TEST_TORCH_PYTHON names no Python that has PyTorch")
	}
	checkLauncher(t, nil, python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=3", "--no-python")
}

// A whole Slurm of one node, on loopback, with files below one folder.
func TestUnderSrun(t *testing.T) {
	programs := installed(t, "munged", "slurmctld", "slurmd", "srun")
	if os.Getuid() != 0 {
		t.Skip("slurmd starts tasks as root only")
	}
	conf := startSlurm(t, programs[0], programs[1], programs[2])
	checkLauncher(t, []string{"SLURM_CONF=" + conf}, programs[3], "--immediate=60", "--kill-on-bad-exit=1", "-n", "3")
}

func startSlurm(t *testing.T, munged, slurmctld, slurmd string) (conf string) {
	t.Helper()
	// Not t.TempDir: names of sockets are short.
	dir, err := os.MkdirTemp("/tmp", "slurm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"state", "spool"} {
		if err := os.Mkdir(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("key"), bytes.Repeat([]byte("a key of this test alone, "), 8), 0o600); err != nil {
		t.Fatal(err)
	}
	ports := freePorts(t, 2)
	text := strings.NewReplacer("DIR", dir, "HOST", host, "PORT1", ports[0], "PORT2", ports[1]).Replace(slurmConf)
	if err := os.WriteFile(at("slurm.conf"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"SLURM_CONF=" + at("slurm.conf")}
	daemon(t, env, at("munge.out"), munged, "--foreground", "--force", "--key-file="+at("key"), "--socket="+at("munge.sock"),
		"--pid-file="+at("munge.pid"), "--seed-file="+at("munge.seed"), "--log-file="+at("munge.log"))
	waitFor(t, at("munge.out"), func() bool { _, err := os.Stat(at("munge.sock")); return err == nil })
	daemon(t, env, at("ctld.out"), slurmctld, "-D", "-c")
	daemon(t, env, at("d.out"), slurmd, "-D", "-c")
	sinfo := installed(t, "sinfo")[0]
	waitFor(t, at("ctld.out"), func() bool {
		cmd := exec.Command(sinfo, "-h", "-o", "%T")
		cmd.Env = append(os.Environ(), env...)
		state, _ := cmd.Output()
		return strings.TrimSpace(string(state)) == "idle"
	})
	return at("slurm.conf")
}

// slurmConf claims more processors than there may be, and needs no cgroups.
const slurmConf = `ClusterName=loop
SlurmctldHost=HOST(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=DIR/munge.sock
CredType=cred/munge
SlurmctldPort=PORT1
SlurmdPort=PORT2
StateSaveLocation=DIR/state
SlurmdSpoolDir=DIR/spool
SlurmctldPidFile=DIR/ctld.pid
SlurmdPidFile=DIR/d.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
NodeName=HOST NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES State=UP
`

// daemon starts a program that is ended with the test.
func daemon(t *testing.T, env []string, log, path string, args ...string) {
	t.Helper()
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
	})
}

func waitFor(t *testing.T, log string, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ready(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log)
			t.Fatalf("a daemon is not ready after %s:\n%s", patience, text)
		}
	}
}

// freePorts finds ports that a daemon may bind later: not those that the system hands
// out, which any connection may have taken by then.
func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	const first, count = 20_000, 10_000
	for range 100 * n {
		port := strconv.Itoa(first + rand.IntN(count))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		defer l.Close()
		if ports = append(ports, port); len(ports) == n {
			return ports
		}
	}
	t.Fatal("no port is free")
	return nil
}
