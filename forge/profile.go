package forge

import (
	"context"
	"fmt"
	"slices"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
)

// Profile is how long each node of a program took, in its place in the program, beside
// the least time that the machine could have needed for it.
type Profile struct {
	Program, Backend string
	Runs             int
	Nodes            []ProfiledNode     // in order of execution, without those that are views
	Limits           string             // of the device, or of one core of the processor
	exe              backend.Executable // what was timed
	roof             roof
}

// ProfiledNode is the part of one node.
type ProfiledNode struct {
	Value  string        // the first result of the node: "%h"
	Op     string        // "linear"
	Kernel string        // in the backend's words
	Time   time.Duration // the median of the runs
	FLOPs  int64
	Bytes  int64         // of operands and results, each once
	Least  time.Duration // what the limits allow; 0 when they are not known
	By     string        // which limit that is: "arithmetic", "memory", or the cache that holds the data
	roof   int
}

// profileRuns is how many runs a profile has behind those of warm-up, and profileBudget
// after which time no further one begins.
const (
	profileWarmup = 5
	profileRuns   = 30
	profileBudget = 2 * time.Second
)

// Profile is [Program.ProfileContext] for a cell: it runs in the cell's context and
// panics with the error.
func (p *Program) Profile(args ...*Tensor) *Profile {
	return cell(p.ProfileContext(callContext(), args...))
}

// ProfileContext runs the program up to 30 times and times its nodes one by one: by the
// clock of the device on backend cuda, and as calls of their own on backend cpu, where a
// call takes some hundred nanoseconds. Without arguments it takes random ones.
func (p *Program) ProfileContext(ctx context.Context, args ...*Tensor) (*Profile, error) {
	args, err := p.orRandom(args)
	if err != nil {
		return nil, err
	}
	if _, err := p.run(ctx, args); err != nil {
		return nil, err
	}
	_ = p.Settle(ctx) // a form that cannot be had is no reason not to time the other
	exe, times, err := p.observed(ctx, args)
	if err != nil {
		return nil, err
	}
	r := &Profile{Program: p.Name(), Backend: p.backend, exe: exe}
	if r.roof, err = p.measureRoof(ctx); err != nil {
		return nil, err
	}
	r.Limits = r.roof.text
	kernels := make(map[string]string)
	for _, k := range exe.Kernels() {
		kernels[k.Value] = k.Kernel
	}
	for _, n := range exe.Graph().Nodes {
		if samples := times[n]; len(samples) > 0 {
			slices.Sort(samples)
			r.Runs = len(samples)
			cost, value := n.Cost(), n.Out[0].String()
			node := ProfiledNode{
				Value: value, Op: n.Op.Name, Kernel: kernels[value], Time: samples[len(samples)/2],
				FLOPs: cost.FLOPs, Bytes: cost.Bytes,
			}
			node.Least, node.By = r.roof.least(n, cost)
			if r.roof.over != nil {
				node.roof = r.roof.over(n)
			}
			r.Nodes = append(r.Nodes, node)
		}
	}
	return r, nil
}

// observed runs the program with its nodes told apart. A backend that makes one function
// of all kernels compiles them anew, apart.
func (p *Program) observed(ctx context.Context, args []*Tensor) (backend.Executable, map[*ir.Node][]time.Duration, error) {
	exe := backend.Current(p.exe())
	times, err := watch(ctx, exe, args)
	if err != nil || len(times) > 0 {
		return exe, times, err
	}
	b, err := NewBackend(p.backend, p.threads)
	if err != nil {
		return nil, nil, err
	}
	c := compiler(b)
	if c == nil {
		return nil, nil, fmt.Errorf("backend %s does not tell its nodes apart; cpu, portable and cuda do", p.backend)
	}
	apart := *c
	apart.Apart = true
	apart.Choose = p.native.Load().chooser(apart)
	if exe, err = apart.Compile(ctx, p.graph()); err != nil {
		return nil, nil, err
	}
	times, err = watch(ctx, exe, args)
	return exe, times, err
}

// watch gives the time of each node in each run behind the first ones, which do not
// count: they find nothing in caches, and a processor that has slept.
func watch(ctx context.Context, exe backend.Executable, args []*Tensor) (map[*ir.Node][]time.Duration, error) {
	times := make(map[*ir.Node][]time.Duration)
	begin, counted := time.Now(), 0
	for run := 0; counted < profileRuns && (counted == 0 || time.Since(begin) < profileBudget); run++ {
		warm := run == 0 || run < profileWarmup && time.Since(begin) < profileBudget/4
		took := make(map[*ir.Node]time.Duration)
		under := backend.WithObserver(ctx, func(n *ir.Node, start, end time.Time) { took[n] += end.Sub(start) })
		if _, err := exe.Run(under, args...); err != nil {
			return nil, err
		}
		if warm {
			continue
		}
		counted++
		for n, d := range took {
			times[n] = append(times[n], d)
		}
	}
	return times, nil
}
