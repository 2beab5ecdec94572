package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"forgekernel/nebula/launch"
	"forgekernel/nebula/proc"
)

// A job is seen and ended by its name, and what lost its parent goes by itself.
// The process that stands for a rank is recorded as Start records its own.
func TestNebulaPS(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	folder, err := launch.OpenFolder()
	if err != nil {
		t.Fatal(err)
	}
	if out, status := command(t, "nebula", "ps"); status != 0 || out != "no jobs are running\n" {
		t.Errorf("status %d: %s", status, out)
	}
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	gone := proc.ID{PID: self.PID, Start: self.Start + 1}
	mine, lost := startSleeper(t), startSleeper(t)
	for _, r := range []launch.Record{
		{Job: "mine", Epoch: 2, Parent: self, Ranks: []proc.ID{mine, gone}},
		{Job: "lost", Parent: gone, Ranks: []proc.ID{lost}},
	} {
		if _, err := folder.Create(r); err != nil {
			t.Fatal(err)
		}
	}
	out, status := command(t, "nebula", "ps", "--json")
	var got psReport
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s", status, err, out)
	}
	if len(got.Reaped) != 1 || got.Reaped[0] != "lost" || lost.Alive() {
		t.Errorf("reaped %v; the lost rank lives: %t", got.Reaped, lost.Alive())
	}
	if len(got.Ranks) != 2 || got.Ranks[0].Job != "mine" || got.Ranks[0].Epoch != 2 || got.Ranks[0].PID != mine.PID ||
		got.Ranks[0].State != "running" || got.Ranks[0].Memory == 0 || got.Ranks[1].State != "ended" {
		t.Errorf("%+v", got.Ranks)
	}
	if out, status := command(t, "nebula", "ps"); status != 0 || !strings.Contains(out, "mine") || !strings.Contains(out, "running") {
		t.Errorf("status %d: %s", status, out)
	}
	if out, status := command(t, "nebula", "kill", "mine"); status != 0 || out != "ended 1 rank of job mine\n" || mine.Alive() {
		t.Errorf("status %d: %s", status, out)
	}
	for _, args := range [][]string{{"nebula", "kill", "nobody"}, {"nebula", "kill", "../x"}} {
		if _, status := command(t, args...); status != exitFailure {
			t.Errorf("%v: status %d", args, status)
		}
	}
}

// startSleeper starts a process that ends with the test.
func startSleeper(t *testing.T) proc.ID {
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

// A place that cannot be right fails, and is told.
func TestNebulaDoctor(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("NEBULA_LAUNCHER", "")
	t.Setenv("NEBULA_RANK", "5")
	t.Setenv("NEBULA_SIZE", "2")
	out, status := command(t, "nebula", "doctor")
	if status != exitFailure || !strings.Contains(out, "fail  launcher ") || !strings.Contains(out, "rank 5 of 2") || !strings.Contains(out, "-> ") {
		t.Errorf("status %d: %s", status, out)
	}
	out, status = command(t, "nebula", "doctor", "--json")
	var report struct {
		Schema   int
		State    string
		Findings []struct{ What, State, Found, Fix string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || status != exitFailure || report.Schema != 1 || report.State != "fail" || len(report.Findings) < 10 {
		t.Errorf("status %d, %v: %s", status, err, out)
	}
}

func TestNebulaManifest(t *testing.T) {
	out, status := command(t, "nebula", "manifest", "--kind", "jobset", "--ranks", "3", "--restarts", "1", "--image", "example.com/forge:1", "--", "forge", "nebula", "doctor")
	if status != 0 || !strings.Contains(out, "kind: JobSet") || !strings.Contains(out, `command: ["forge","nebula","doctor"]`) {
		t.Errorf("status %d: %s", status, out)
	}
	for _, args := range []string{"nebula manifest", "nebula manifest --ranks 2 --image x", "nebula manifest --ranks 0 --image x -- y", "nebula nothing"} {
		if _, status := command(t, strings.Fields(args)...); status != exitUsage {
			t.Errorf("%s: status %d", args, status)
		}
	}
}
