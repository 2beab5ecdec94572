package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forgekernel/nebula/launch"
)

// ran is what a command line printed, run by this build as a process of its own.
type ran struct {
	stdout, stderr string
	status         int
}

// runForge runs a command line whose ranks are this build, and checks that nothing
// of them stays.
func runForge(t *testing.T, args string) ran {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	p := startForge(t, strings.Fields(args)...)
	var out strings.Builder
	if _, err := p.stdout.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	r := ran{status: p.status(), stdout: out.String(), stderr: p.stderr.String()}
	noJobs(t)
	return r
}

// noJobs checks that no rank is on record.
func noJobs(t *testing.T) {
	t.Helper()
	folder, err := launch.OpenFolder()
	if err != nil {
		t.Fatal(err)
	}
	if jobs, err := folder.Jobs(); err != nil || len(jobs) > 0 {
		t.Errorf("left behind: %+v, %v", jobs, err)
	}
}

const tinyModel = " --model tiny --backend interp --threads 1 "

// One prompt gives one text, however the ranks divide the model.
func TestNebulaGenerate(t *testing.T) {
	want := runForge(t, "nebula generate --ids 1,2,3 -n 8 --json"+tinyModel)
	var one generated
	if err := json.Unmarshal([]byte(want.stdout), &one); err != nil || want.status != 0 {
		t.Fatalf("%+v: %v", want, err)
	}
	if len(one.IDs) != 8 || one.Finish != "length" || one.Usage.Prompt != 3 || one.Usage.Generated != 8 {
		t.Errorf("%+v", one)
	}
	for _, layout := range []string{"--tp 2", "--pp 2", "--tp 3 --pp 2"} {
		got := runForge(t, "nebula generate --ids 1,2,3 -n 8 --json --logprobs 2 "+layout+tinyModel)
		var other generated
		if err := json.Unmarshal([]byte(got.stdout), &other); err != nil || got.status != 0 {
			t.Errorf("%s: %+v: %v", layout, got, err)
		}
		if !slices.Equal(other.IDs, one.IDs) || other.Text != one.Text || len(other.LogProbs) != 8 || len(other.LogProbs[0].Top) != 2 {
			t.Errorf("%s gives %+v, not %+v", layout, other, one)
		}
	}
	// As text: standard output holds that alone.
	file := filepath.Join(t.TempDir(), "prompt")
	if err := os.WriteFile(file, []byte("Once"), 0o600); err != nil {
		t.Fatal(err)
	}
	flag := runForge(t, "nebula generate --prompt Once -n 8"+tinyModel)
	read := runForge(t, "nebula generate --tp 2 -n 8 --prompt-file "+file+tinyModel)
	if flag.status != 0 || flag.stdout == "\n" || flag.stdout != read.stdout || !strings.Contains(read.stderr, "8 tokens after 4, ended by length") {
		t.Errorf("%+v and %+v", flag, read)
	}
}

// What cannot be is one error, and the status says whose it is.
func TestNebulaGenerateRefuses(t *testing.T) {
	for _, tt := range []struct {
		args, want string
		status     int
	}{
		{"--prompt x --tp 5" + tinyModel, "nearest legal degrees are TP 3 and TP 6", exitUsage},
		{"--prompt x", "--model is needed", exitUsage},
		{"--prompt x --ids 1" + tinyModel, "give one of", exitUsage},
		{"--ids 1,x" + tinyModel, `not "x"`, exitUsage},
		{"--prompt x --dtype f16" + tinyModel, "f32 or bf16", exitUsage},
		{"--prompt x --temperature -1" + tinyModel, "temperature", exitUsage},
		{"--prompt x --model tinny", "tinny", exitFailure},
		{"--prompt-file /nowhere/prompt --tp 2" + tinyModel, "/nowhere/prompt", exitFailure},
		{"--ids 1,999 --tp 2" + tinyModel, "999", exitFailure},
		{"--prompt x --context 1 --tp 2" + tinyModel, "2 to 256", exitUsage},
		{"--prompt x --backend abacus --tp 2" + tinyModel[:len(" --model tiny ")], "abacus", exitUsage},
	} {
		got := runForge(t, "nebula generate "+tt.args)
		if got.status != tt.status || got.stdout != "" || !strings.Contains(got.stderr, tt.want) || strings.Count(got.stderr, "forge: ") != 1 {
			t.Errorf("%s: %+v", tt.args, got)
		}
	}
}

// endless is a generation on two ranks that goes on until something ends it. It
// returns when the first token has come.
func endless(t *testing.T, deadline string) (p *process, ranks []int) {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	p = startForge(t, strings.Fields("nebula generate --ids 1,2,3 --ignore-eos -n 0 --tp 2 --deadline "+deadline+tinyModel)...)
	if _, err := p.stdout.ReadString(' '); err != nil {
		t.Fatalf("%v: %s", err, p.stderr.String())
	}
	return p, runningRanks(t)
}

// runningRanks are the processes of the one job there is, by rank.
func runningRanks(t *testing.T) (ranks []int) {
	t.Helper()
	folder, err := launch.OpenFolder()
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := folder.Jobs()
	if err != nil || len(jobs) != 1 || len(jobs[0].Ranks) != 2 {
		t.Fatalf("%+v, %v", jobs, err)
	}
	for _, id := range jobs[0].Ranks {
		ranks = append(ranks, id.PID)
	}
	return ranks
}

// A signal cancels the request, and everything ends.
func TestSignalStopsGenerate(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			p, _ := endless(t, "1m")
			p.Process.Signal(s)
			if got := p.status(); got != exitFailure || !strings.Contains(p.stderr.String(), "forge: stopped: "+s.String()) {
				t.Errorf("exit status %d: %s", got, p.stderr.String())
			}
			noJobs(t)
		})
	}
}

// A rank that is killed fails the command, which names it.
func TestKilledRankFailsGenerate(t *testing.T) {
	for rank, want := range []string{"forge: rank 0 was ended by SIGKILL", ": rank 1, epoch 0: "} {
		p, ranks := endless(t, "1m") // the end of a process is seen at once
		syscall.Kill(ranks[rank], syscall.SIGKILL)
		if got := p.status(); got != exitFailure || !strings.Contains(p.stderr.String(), want) {
			t.Errorf("rank %d: exit status %d: %s", rank, got, p.stderr.String())
		}
		noJobs(t)
	}
}

// A rank that is stopped fails the command, too, which says so: rank 0 sees it, or the
// others see that rank 0 is silent, and it is ended.
func TestStoppedRankFailsGenerate(t *testing.T) {
	for rank, want := range []string{"forge: rank 0 was stopped for 8s, and ended", ": rank 1, epoch 0: "} {
		p, ranks := endless(t, "8s") // the one that runs must be quicker, on a busy machine too
		syscall.Kill(ranks[rank], syscall.SIGSTOP)
		if got := p.status(); got != exitFailure || !strings.Contains(p.stderr.String(), want) {
			t.Errorf("rank %d: exit status %d: %s", rank, got, p.stderr.String())
		}
		noJobs(t)
	}
}

// A second signal ends everything at once, also what does not answer.
func TestSecondSignalKillsGenerate(t *testing.T) {
	p, ranks := endless(t, "1h")
	syscall.Kill(ranks[1], syscall.SIGSTOP)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.status()
	}()
	for running := true; running; {
		p.Process.Signal(syscall.SIGINT)
		select {
		case <-ended:
			running = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	if s, ok := p.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v: %s", p.ProcessState, p.stderr.String())
	}
	for _, pid := range ranks {
		waitUntilGone(t, strconv.Itoa(pid))
	}
}
