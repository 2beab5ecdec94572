package job

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/display"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/model"
	"forgekernel/nebula/sample"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
	"forgekernel/nebula/shard"
)

// kernelCommand makes this binary a process that starts a job, prints the tokens of
// one answer after another, and may be killed.
const kernelCommand = "kernel"

// kernel says how.
type kernel struct {
	Layout shard.Layout
	Epoch  uint32
	// Full is when no file of this process may grow any more, as on a full disk:
	// "before" or "after" the start of the job.
	Full    string
	Injury  injury
	Answers int
}

// unseen takes what is shown of the progress of a slow start, which is no answer.
type unseen struct{}

func (unseen) Show(display.Output) error { return nil }
func (unseen) Clear(bool) error          { return nil }

func kernelMain(text string) error {
	display.SetSink(unseen{})
	var k kernel
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return err
	}
	full := func() error { return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{}) }
	if k.Full == "before" {
		if err := full(); err != nil {
			return err
		}
	}
	m, err := model.Seeded(small, 3)
	if err != nil {
		return err
	}
	p, err := start(context.Background(), m, spec(k.Layout.TP, k.Layout.PP), launch.Spec{Command: Command, Grace: grace, Env: k.Injury.environment()})
	if err != nil {
		return err
	}
	defer p.Close()
	if k.Full == "after" {
		if err := full(); err != nil {
			return err
		}
	}
	for range k.Answers {
		if err := answer(p, os.Stdout); err != nil {
			return err
		}
	}
	return p.Close()
}

// answer prints the tokens of the answer to the first prompt.
func answer(s serve.Service, w io.Writer) error {
	stream, err := s.Submit(context.Background(), sched.Request{Prompt: prompts[0], Params: sample.Params{MaxTokens: answered}})
	if err != nil {
		return err
	}
	for e := range stream.Events() {
		if e.Finish != nil {
			return e.Finish.Err
		}
		fmt.Fprintln(w, e.Token)
	}
	return nil
}

// command runs this binary as a kernel of its own, with its own records.
func (k kernel) command(t *testing.T) (cmd *exec.Cmd, mark, folder string) {
	raw, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	mark = "JOB_TEST_MARK=" + folder
	cmd = exec.Command(os.Args[0], kernelCommand, string(raw))
	cmd.Env = append(os.Environ(), mark, "XDG_RUNTIME_DIR="+folder)
	return cmd, mark, folder
}

// TestKernelKilled kills the process that has started a job. Its ranks end with it,
// and its record with the next start.
func TestKernelKilled(t *testing.T) {
	points, in := faultPoints()
	for point := range points {
		for i := range in {
			l := layouts[(point+i)%len(layouts)]
			t.Run(fmt.Sprintf("%dx%d/%d", l.TP, l.PP, point), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(uint64(point), uint64(l.Ranks())))
				k := kernel{Layout: l, Answers: 1 << 30, Injury: injury{Rank: -1}}
				cmd, mark, folder := k.command(t)
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(out)
				for n := random.IntN(60); n > 0 && lines.Scan(); n-- {
				}
				if random.IntN(4) == 0 { // in the middle of the start of the next one, or of nothing
					time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
				}
				cmd.Process.Kill()
				cmd.Wait()
				nothingOf(t, mark, holdings{})
				next, mark, _ := kernel{Layout: l, Answers: 1, Injury: injury{Rank: -1}}.command(t)
				next.Env = append(next.Env, "XDG_RUNTIME_DIR="+folder)
				text, err := next.Output()
				if err != nil || string(text) != printed(1) {
					t.Errorf("the next start prints %s, %v", text, err)
				}
				nothingOf(t, mark, holdings{})
				if left, err := os.ReadDir(folder + "/nebula"); err != nil || len(left) > 0 {
					t.Errorf("there is still: %v, %v", left, err)
				}
			})
		}
	}
}

// printed is what a kernel prints.
func printed(answers int) string {
	var b strings.Builder
	for range answers {
		for _, token := range right()[0] {
			fmt.Fprintln(&b, token)
		}
	}
	return b.String()
}

// TestFullDisk starts a job where no log can be written: it works, whatever its
// ranks print. Where not even a record can be written, the error says so.
func TestFullDisk(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			k := kernel{Layout: l, Answers: 2, Full: "after", Injury: injury{What: "prints without end"}}
			cmd, mark, folder := k.command(t)
			text, err := cmd.Output()
			if err != nil || string(text) != printed(2) {
				t.Errorf("it prints %s, %v", text, err)
			}
			k.Full = "before"
			again, _, _ := k.command(t)
			again.Env = cmd.Env
			said, err := again.CombinedOutput()
			if err == nil || !strings.Contains(string(said), "record of the job") || !strings.Contains(string(said), "file too large") {
				t.Errorf("it says %s, %v", said, err)
			}
			nothingOf(t, mark, holdings{})
			if left, err := os.ReadDir(folder + "/nebula"); err != nil || len(left) > 0 {
				t.Errorf("there is still: %v, %v", left, err)
			}
		})
	}
}

// longest is how many tokens the request asks for that is interrupted.
const longest = 50

// TestInterrupted ends the context of one of several requests: it ends at once, the
// others are answered as ever, and so are later ones.
func TestInterrupted(t *testing.T) {
	points, in := faultPoints()
	for point := range points {
		for i := range in {
			l := layouts[(point+i)%len(layouts)]
			t.Run(fmt.Sprintf("%dx%d/%d", l.TP, l.PP, point), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(uint64(point), 9))
				p := running(t, seeded(t, small), spec(l.TP, l.PP))
				var all sync.WaitGroup
				for i := range prompts[1:] {
					all.Go(func() {
						if err := ask(t.Context(), t, p, i+1, false); err != nil {
							t.Error(err)
						}
					})
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stream, err := p.Submit(ctx, sched.Request{Prompt: prompts[0], Params: sample.Params{MaxTokens: longest}})
				if err != nil {
					t.Fatal(err)
				}
				var list []int32
				var end *sched.Finish
				after := random.IntN(answered)
				for e := range stream.Events() {
					if len(list) == after {
						cancel()
					}
					if end = e.Finish; end == nil {
						list = append(list, e.Token)
					}
				}
				want := right()[0]
				late := len(list) == longest // it had ended before this test came to it
				if n := min(len(list), len(want)); !slices.Equal(list[:n], want[:n]) || end == nil || end.Reason != sched.Cancelled && !late {
					t.Errorf("after %d tokens: %v, %+v", after, list, end)
				}
				all.Wait()
				for i := range prompts {
					if err := ask(t.Context(), t, p, i, false); err != nil {
						t.Error(err)
					}
				}
				if state, err := p.State(t.Context()); err != nil || state.Engine.Err != nil {
					t.Errorf("%+v, %v", state, err)
				}
			})
		}
	}
}
