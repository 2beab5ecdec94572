package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/portable"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/mesh"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
	"forgekernel/nebula/trace"
)

// rankVariable makes this test binary a rank of a job: "rank tp pp job deadline".
const rankVariable = "ENGINE_TEST_RANK"

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(rankVariable); ok {
		if err := childRank(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// joined is a rank's member of a job of processes, and its mesh.
func joined(ctx context.Context, m *model.Model, job string, p shard.Place, limit time.Duration) (Member, *mesh.Mesh, error) {
	net, err := mesh.Join(ctx, mesh.Config{Job: job, Token: []byte("test"), Epoch: 5, Rank: p.Rank, Size: p.Ranks()})
	if err != nil {
		return Member{}, nil, err
	}
	world, err := collective.Over(net, collective.Options{Timeout: limit * 3 / 4})
	if err != nil {
		return Member{}, nil, err
	}
	b, err := processBackend(p.Rank)
	return Member{Model: m, Place: p, Backend: b, World: world, Deadline: limit}, net, err
}

// processBackend is that of a rank: of a GPU of its own where the job says so.
func processBackend(rank int) (backend.Backend, error) {
	if os.Getenv(gpuVariable) == "" {
		b := portable.New()
		b.Workers = 1
		return b, nil
	}
	b, err := cuda.Open(rank)
	if err == nil {
		b.Overlap = os.Getenv(gpuVariable) == "overlap"
	}
	return b, err
}

// Variables of a job: its model, by a name of shapesOfLlama, and whether ranks have GPUs,
// on which kernels may overlap.
const (
	modelVariable = "ENGINE_TEST_MODEL"
	gpuVariable   = "ENGINE_TEST_GPU"
)

// processModel is the model of a job.
func processModel() (*model.Model, error) {
	switch name := os.Getenv(modelVariable); name {
	case "":
		return model.Seeded(cacheResident(), 7)
	case "long":
		c := llamaConfig()
		c.Context = 512
		return model.Seeded(c, 7)
	default:
		return model.Seeded(shapesOfLlama[name], 7)
	}
}

// childRank is what a rank other than 0 does.
func childRank(text string) error {
	var p shard.Place
	var job, limit string
	if _, err := fmt.Sscan(text, &p.Rank, &p.TP, &p.PP, &job, &limit); err != nil {
		return err
	}
	d, err := time.ParseDuration(limit)
	if err != nil {
		return err
	}
	m, err := processModel()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	member, net, err := joined(ctx, m, job, p, d)
	if err != nil {
		return err
	}
	defer net.Close()
	if os.Getenv(longVariable) != "" {
		member.Backend = &lengthy{member.Backend, time.Hour}
	}
	return Serve(ctx, member, net.Command(0))
}

// processes is an engine whose other ranks are child processes.
type processes struct {
	*Leader
	children []*exec.Cmd // by rank; nil for 0
	ended    []chan error
}

func startProcesses(t testing.TB, l shard.Layout, limit time.Duration, o Options) *processes {
	t.Helper()
	p := &processes{children: make([]*exec.Cmd, l.Ranks()), ended: make([]chan error, l.Ranks())}
	job := "engine-test-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	for r := 1; r < l.Ranks(); r++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d %s %v", rankVariable, r, l.TP, l.PP, job, limit))
		cmd.Stderr = t.Output()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p.children[r], p.ended[r] = cmd, make(chan error, 1)
		go func() { p.ended[r] <- cmd.Wait() }()
		t.Cleanup(func() { _ = cmd.Process.Kill() })
	}
	m, err := processModel()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	member, net, err := joined(ctx, m, job, shard.Place{Layout: l}, limit)
	if err != nil {
		t.Fatal(err)
	}
	links := make([]Link, l.Ranks())
	for r := 1; r < l.Ranks(); r++ {
		links[r] = net.Command(r)
	}
	if p.Leader, err = Lead(ctx, member, links, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Close()
		_ = member.World.Close()
		_ = net.Close()
	})
	return p
}

// finished is how a child ended, which it has to do soon.
func (p *processes) finished(t testing.TB, rank int) error {
	t.Helper()
	select {
	case err := <-p.ended[rank]:
		return err
	case <-time.After(patience):
		t.Fatalf("rank %d has not ended", rank)
		return nil
	}
}

// TestProcesses runs ranks as processes, compares them with the reference and lets
// them end.
func TestProcesses(t *testing.T) {
	for _, l := range []shard.Layout{{TP: 2, PP: 1}, {TP: 1, PP: 2}, {TP: 2, PP: 2}} {
		t.Run(l.String(), func(t *testing.T) {
			p := startProcesses(t, l, 10*time.Second, Options{Blocks: 40})
			gate := Gate{Tokens: 5, Tolerance: 1e-5, Prompts: [][]int32{prompt(1, 4, 256), prompt(2, 40, 256)}}
			ref, err := NewReference(t.Context(), p.self.model, 64, nil)
			if err != nil {
				t.Fatal(err)
			}
			if report, err := gate.Check(t.Context(), p.Leader, ref); err != nil || report.Tokens != 10 {
				t.Errorf("%+v, %v", report, err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			for r := 1; r < l.Ranks(); r++ {
				if err := p.finished(t, r); err != nil {
					t.Errorf("rank %d: %v", r, err)
				}
			}
		})
	}
}

// TestKilled ends or stops a process in the middle of its work.
func TestKilled(t *testing.T) {
	l := shard.Layout{TP: 2, PP: 2}
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		for victim := 1; victim < l.Ranks(); victim++ {
			t.Run(fmt.Sprintf("%v of rank %d", sig, victim), func(t *testing.T) {
				limit := time.Minute // the end of a process is seen at once
				if sig == syscall.SIGSTOP {
					limit = 2 * time.Second
				}
				p := startProcesses(t, l, limit, Options{Blocks: 16})
				d := newDecoder(t, p.Leader)
				for range 5 + 7*victim {
					d.step(t)
				}
				if err := p.children[victim].Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				var err error
				for err == nil {
					err = d.try(t)
				}
				took := time.Since(begun)
				cause := (*Error)(nil)
				if !errors.As(err, &cause) || cause.Rank != victim || cause.Epoch != 5 || cause.Op == "" {
					t.Errorf("after %v: %v", took, err)
				}
				if err := p.Close(); !errors.Is(err, cause) {
					t.Errorf("Close: %v", err)
				}
				for r := 1; r < l.Ranks(); r++ {
					if r == victim {
						_ = p.children[r].Process.Kill()
					}
					if err := p.finished(t, r); err == nil {
						t.Errorf("rank %d ended as if nothing had happened", r)
					}
				}
			})
		}
	}
}

// TestTraceOfProcesses looks at two stages that are processes, with two requests in
// flight: the clocks are compared, messages link the stages, and these work at the same
// time.
func TestTraceOfProcesses(t *testing.T) {
	p := startProcesses(t, shard.Layout{TP: 1, PP: 2}, 10*time.Second, Options{Blocks: 32, Regions: 1 << 12})
	first, second := newDecoder(t, p.Leader), newDecoder(t, p.Leader)
	first.blocks, second.blocks, second.id = first.blocks[:8], second.blocks[8:], 1<<20
	if err := first.submit(t); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		for _, pair := range [][2]*decoder{{second, first}, {first, second}} {
			if err := errors.Join(pair[0].submit(t), pair[1].wait(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ranks, err := p.Trace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := trace.WriteChrome(&out, ranks...); err != nil || out.Len() == 0 {
		t.Error(err)
	}
	if ranks[1].Error <= 0 {
		t.Errorf("the clock of rank 1 is known to %v", ranks[1].Error)
	}
	flows := make(map[uint64]int)
	for i, r := range ranks {
		kinds := make(map[trace.Kind]int)
		for _, g := range r.Regions {
			kinds[g.Kind]++
			if g.End < g.Start {
				t.Errorf("rank %d: %+v", i, g)
			}
			if g.Flow != 0 {
				flows[g.Flow]++
			}
		}
		if kinds[trace.Step] < 120 || kinds[trace.Agree] < 120 || kinds[trace.Send]+kinds[trace.Recv] < 120 {
			t.Errorf("rank %d recorded %v", i, kinds)
		}
	}
	linked := 0
	for _, n := range flows {
		linked += n / 2
	}
	if linked < 120 {
		t.Errorf("%d messages are linked, of 120", linked)
	}
	if overlap := overlapping(ranks); overlap == 0 {
		t.Error("the stages never work at the same time")
	}
	for _, b := range trace.Bubbles(ranks) {
		t.Logf("stage %d is idle for %.0f %% of %v", b.Stage, 100*b.Share(), b.Window)
	}
}

// overlapping counts steps of rank 0 during which rank 1 executes another one.
func overlapping(ranks []trace.Rank) int {
	n := 0
	for _, a := range ranks[0].Regions {
		for _, b := range ranks[1].Regions {
			if a.Kind == trace.Step && b.Kind == trace.Step && a.Step != b.Step &&
				a.Start < b.End-ranks[1].Offset && b.Start-ranks[1].Offset < a.End {
				n++
			}
		}
	}
	return n
}
