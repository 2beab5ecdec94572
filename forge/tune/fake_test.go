package tune

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/capture"
	"forgekernel/forge/ir"
)

// lab is a bench without a machine: candidates take the time that it says, on a
// clock of its own.
type lab struct {
	now time.Duration
	// shapes are the kernels of the program, and times what a run of each candidate
	// takes, the backend's own choice first.
	shapes []string
	times  map[string][]time.Duration
	// costs are predicted times; nil for none.
	costs map[string][]float64
	// noise is added to the n-th sample of a candidate.
	noise func(shape string, candidate, n int) time.Duration
	// wrong are candidates that do not pass the gate, failing those that fail while
	// they are timed.
	wrong, failing map[string]bool
	broken         map[string]error  // kernels that do not compile
	apart          map[string]string // kernels that are no program, and why
	whole          []time.Duration   // of the program, untuned and tuned
	timed          map[string]int    // runs of each candidate
	order          []string          // candidates in the order in which samples began
}

func candidateName(shape string, i int) string { return fmt.Sprintf("%s/%d", shape, i) }

func (l *lab) steps(*ir.Graph) ([]cpu.Step, error) {
	var list []cpu.Step
	for i, shape := range l.shapes {
		s := cpu.Step{Value: fmt.Sprintf("%%v%d", i), Shape: shape, FLOPs: 100, Bytes: 10, Reason: l.apart[shape]}
		for k := range l.times[shape] {
			p := cpu.Proposal{Schedule: cpu.Schedule{Rows: k + 1, Vectors: 1, Width: 4}}
			if l.costs != nil {
				p.Cost = l.costs[shape][k]
			}
			s.Proposals = append(s.Proposals, p)
		}
		list = append(list, s)
	}
	return list, nil
}

func (l *lab) entrant(shape string, i int, takes time.Duration) *entrant {
	name := candidateName(shape, i)
	e := &entrant{gate: &capture.Gate{Relative: 1e-4, Absolute: 1e-4}}
	if l.wrong[name] {
		e.gate.Worst = 7
		e.err = e.gate.Failure()
	}
	e.run = func(ctx context.Context, n int) error {
		if l.timed == nil {
			l.timed = make(map[string]int)
		}
		l.timed[name]++
		l.order = append(l.order, name)
		l.now += takes * time.Duration(n)
		if l.noise != nil {
			l.now += l.noise(shape, i, l.timed[name])
		}
		if l.failing[name] && l.timed[name] > 4 {
			return errors.New("it broke")
		}
		return nil
	}
	return e
}

func (l *lab) kernel(_ context.Context, s cpu.Step, schedules []cpu.Schedule) ([]*entrant, error) {
	if err := l.broken[s.Shape]; err != nil {
		return nil, err
	}
	list := make([]*entrant, len(schedules))
	for i := range schedules {
		list[i] = l.entrant(s.Shape, i, l.times[s.Shape][i])
	}
	return list, nil
}

func (l *lab) program(context.Context, *ir.Graph, cpu.Schedules) ([]*entrant, error) {
	return []*entrant{l.entrant("program", 0, l.whole[0]), l.entrant("program", 1, l.whole[1])}, nil
}

func (l *lab) peak(context.Context) (float64, error) { return 1e9, nil }

// tuner measures in the lab.
func (l *lab) tuner() *Tuner {
	if l.whole == nil {
		l.whole = []time.Duration{20 * time.Microsecond, 10 * time.Microsecond}
	}
	t := New(cpu.New(), Settings{Rounds: 5, MaxRounds: 8, MinSample: 50 * time.Microsecond, Budget: time.Hour, Seed: 1}, nil)
	t.bench = l
	t.wall = func() time.Duration { return l.now }
	t.date = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	t.machine = func(context.Context, *cpu.Backend) (Machine, error) {
		return Machine{Processor: "Abacus 9", Target: "beads", Threads: 3, Compiler: "cc 1.2 (Fen)", CompilerHash: "00c0ffee"}, nil
	}
	return t
}

// micros are times of candidates in microseconds.
func micros(list ...float64) []time.Duration {
	times := make([]time.Duration, len(list))
	for i, t := range list {
		times[i] = time.Duration(t * float64(time.Microsecond))
	}
	return times
}
