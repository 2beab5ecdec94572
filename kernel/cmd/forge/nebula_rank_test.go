package main

import (
	"strings"
	"syscall"
	"testing"

	"forgekernel/kernel/client"
)

const (
	tinyJob  = "m := nebula.Seeded(nebula.TinyDecoder(), 3)\nctx := context.Background()"
	startJob = `job := nebula.Launch(m, nebula.TP(2), nebula.Backend("interp"), nebula.Threads(1))`
)

// rankPIDs are the processes of the ranks below the kernel.
func rankPIDs(t *testing.T, kernel *client.Client) []string {
	t.Helper()
	got := run(t, kernel, `%%bash
for p in /proc/[0-9]*; do
	if tr '\0' ' ' 2>/dev/null < $p/cmdline | grep -q ' nebula rank $'; then
		test "$(awk '/^PPid/ { print $2 }' $p/status)" = $PPID && basename $p
	fi
done
true`)
	if got.status != "ok" {
		t.Fatal(got.traceback)
	}
	return strings.Fields(got.stdout)
}

// TestJobInCells launches, uses, interrupts, starts again and closes a job of two
// processes, as a notebook does.
func TestJobInCells(t *testing.T) {
	kernel := startKernel(t)
	run(t, kernel, tinyJob).want(t, "")
	run(t, kernel, startJob).want(t, "")
	first := rankPIDs(t, kernel)
	if len(first) != 2 {
		t.Fatalf("the ranks are %v", first)
	}
	got := run(t, kernel, `for piece, err := range job.Generate(ctx, "hello", nebula.MaxTokens(8)) {
	if err != nil { panic(err) }
	if piece.Finish != nil { fmt.Println(piece.Finish.Reason, piece.Finish.Usage.Generated) } else { fmt.Println(piece.Token) }
}`)
	if lines := strings.Split(strings.TrimSpace(got.stdout), "\n"); len(lines) != 9 || lines[8] != "length 8" {
		t.Errorf("streamed %q\n%s", got.stdout, got.traceback)
	}
	run(t, kernel, `job.Complete(ctx, "hello", nebula.MaxTokens(8)).Reason == nebula.Length`).want(t, "true")
	for code, part := range map[string]string{
		"job": "all_", "job.Status()": "healthy", "job.Rank(1)": "Programs of rank 1", "fmt.Print(job.Rank(1).Explain())": "all_reduce", "m": "115 k parameters",
		`job.Batch(ctx, []string{"a", "b"}, nebula.MaxTokens(2))`: "generated", "m.Plan(nebula.TP(2), nebula.PP(2))": "KV heads",
	} {
		if got := run(t, kernel, code); got.status != "ok" || !strings.Contains(got.result+got.stdout, part) {
			t.Errorf("%s: no %q in %s%s%s", code, part, got.result, got.stdout, got.traceback)
		}
	}

	cell := begin(t, kernel, `fmt.Println("running")
for { job.Complete(ctx, "hello", nebula.StopTokens()) }`)
	for m := range cell.Outputs() {
		if m.Header.MsgType == "stream" {
			break
		}
	}
	if err := kernel.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := finish(t, cell); got.ename != "Interrupt" {
		t.Errorf("interrupted: status %s, %s: %s", got.status, got.ename, got.evalue)
	}
	run(t, kernel, `job.Status().State`).want(t, "healthy")
	run(t, kernel, `len(job.Complete(ctx, "hello", nebula.MaxTokens(8)).Tokens)`).want(t, "8")

	got = run(t, kernel, `stop := job.Watch(ctx)
job.Complete(ctx, "hello", nebula.MaxTokens(8))
stop()`)
	var shown []string
	for _, m := range got.outputs {
		shown = append(shown, m.Header.MsgType)
	}
	if all := strings.Join(shown, " "); !strings.Contains(all, "display_data") || !strings.Contains(all, "update_display_data") {
		t.Errorf("watching shows %s\n%s", all, got.traceback)
	}

	run(t, kernel, startJob).want(t, "")
	for _, pid := range first {
		waitUntilGone(t, pid)
	}
	if second := rankPIDs(t, kernel); len(second) != 2 {
		t.Errorf("after starting again the ranks are %v", second)
	}
	got = run(t, kernel, `nebula.Launch(m, nebula.TP(4))`)
	if got.ename != "NebulaError" || !strings.Contains(got.evalue, "TP 3") {
		t.Errorf("status %s, %s: %s", got.status, got.ename, got.evalue)
	}
	got = run(t, kernel, `pid := job.Status().Ranks[1].PID
for _, err := range job.Generate(ctx, "hello") {
	syscall.Kill(pid, syscall.SIGKILL)
	if err != nil { panic(err) }
}`)
	if got.status != "error" || !strings.Contains(got.evalue, "rank 1") {
		t.Errorf("a rank that died: status %s, %s: %s", got.status, got.ename, got.evalue)
	}
	run(t, kernel, `job.Status().State`).want(t, "failed")
	run(t, kernel, "job.Close()").want(t, "")
	if left := rankPIDs(t, kernel); len(left) != 0 {
		t.Errorf("the ranks %v are left", left)
	}
	got = run(t, kernel, `job.Complete(ctx, "hello")`)
	if got.ename != "NebulaError" || !strings.Contains(got.traceback, "nebula.Launch starts the job again") {
		t.Errorf("status %s, %s: %s\n%s", got.status, got.ename, got.evalue, got.traceback)
	}
}

// TestRanksEndWithTheKernel sees that no rank outlives the kernel or the session, and
// that a rank that is killed fails the job and not the cell's process.
func TestRanksEndWithTheKernel(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *client.Client){
		"shut down": func(t *testing.T, kernel *client.Client) {
			if err := kernel.Shutdown(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		},
		"kernel killed": func(t *testing.T, kernel *client.Client) { syscall.Kill(kernelPID(t, kernel), syscall.SIGKILL) },
		"session killed": func(t *testing.T, kernel *client.Client) {
			run(t, kernel, "syscall.Kill(os.Getpid(), syscall.SIGKILL)\nselect {}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := startKernel(t)
			run(t, kernel, tinyJob).want(t, "")
			run(t, kernel, startJob).want(t, "")
			pids := rankPIDs(t, kernel)
			if len(pids) != 2 {
				t.Fatalf("the ranks are %v", pids)
			}
			end(t, kernel)
			for _, pid := range pids {
				waitUntilGone(t, pid)
			}
		})
	}
}
