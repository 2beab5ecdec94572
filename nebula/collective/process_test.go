package collective

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"forgekernel/nebula/mesh"
)

// part is what a process of a test is told to do, in the environment.
type role struct {
	Name       string // of an entry of roles
	Job        string
	Rank, Size int
	Across     bool          // every rank on a host of its own
	Timeout    time.Duration // of calls, once all ranks make some
	Buffer     int
	N          int
	Pin        bool          // a processor for each rank
	Work       time.Duration // between two calls, on average
}

// roles are what processes of tests do. The result is reported as JSON.
var roles = map[string]func(r role, g Group, report func(any)) any{
	"conform": conformRole,
}

// enough bounds what must happen; tests that pass do not wait for it.
const enough = 5 * time.Minute

const roleVariable = "NEBULA_TEST_ROLE"

func TestMain(m *testing.M) {
	if text := os.Getenv(roleVariable); text != "" {
		os.Exit(play(text))
	}
	os.Exit(m.Run())
}

// play is the main function of a process that is a rank.
func play(text string) int {
	go func() { // ends with the test
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	out := json.NewEncoder(os.Stdout)
	report := func(v any) { _ = out.Encode(v) }
	err := func() error {
		var r role
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return err
		}
		c := mesh.Config{Job: r.Job, Token: []byte("test"), Epoch: 2, Rank: r.Rank, Size: r.Size}
		if r.Across {
			c.Address, c.Host = "127.0.0.1", fmt.Sprint("host ", r.Rank)
		}
		ctx, cancel := context.WithTimeout(context.Background(), enough)
		defer cancel()
		m, err := mesh.Join(ctx, c)
		if err != nil {
			return err
		}
		defer m.Close()
		g, err := Over(m, Options{Buffer: r.Buffer})
		if err != nil {
			return err
		}
		defer g.Close()
		report(roles[r.Name](r, g, report))
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rank:", err)
		return 1
	}
	return 0
}

// process is a rank of a test in a process of its own.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
	out *bufio.Reader
}

// start runs a role in as many processes as it has ranks. They end with the test.
func start(t testing.TB, r role) []*process {
	t.Helper()
	r.Job = fmt.Sprintf("%s/%d/%d", t.Name(), os.Getpid(), jobs.Add(1))
	list := make([]*process, r.Size)
	for i := range list {
		r.Rank = i
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		list[i] = &process{t, cmd, bufio.NewReader(out)}
		t.Cleanup(func() {
			in.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	return list
}

// read takes the next thing that a process reports.
func read[T any](p *process) (v T) {
	p.t.Helper()
	text, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		p.t.Fatalf("a rank reports %q, %v", text, err)
	}
	return v
}

// reads takes the next thing of every process.
func reads[T any](list []*process) []T {
	all := make([]T, len(list))
	var wg sync.WaitGroup
	for i, p := range list {
		wg.Go(func() { all[i] = read[T](p) })
	}
	wg.Wait()
	return all
}

func conformRole(r role, g Group, _ func(any)) any {
	for _, dtype := range dtypes {
		for _, n := range []int{0, 1, 100, 5000, 20_000} {
			if err := conform(g, dtype, n, uint64(n)); err != nil {
				return err.Error()
			}
		}
	}
	return ""
}

// Ranks that are processes get what ranks in one process get.
func TestProcesses(t *testing.T) {
	for _, c := range []struct {
		size   int
		across bool
	}{{2, false}, {3, false}, {2, true}} {
		for i, text := range reads[string](start(t, role{Name: "conform", Size: c.size, Across: c.across})) {
			if text != "" {
				t.Errorf("rank %d of %d: %s", i, c.size, text)
			}
		}
	}
}
