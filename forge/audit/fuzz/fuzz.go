// Package fuzz looks for programs that the compiler gets wrong.
//
// It makes random programs with package generate and compares what every prefix
// of the pass pipeline, the memory plan and every backend make of them with the
// interpreter. Exact rules must keep every bit. A rule that is not exact is
// compared at its site, on the same operands: an element must be finite,
// infinite or NaN where it was, and no farther from the float64 result than it
// was but for the bound that the rule derives. A backend must keep every bit of
// a node whose elements are computed in one way; where sums may run in another
// order, as far as package bound permits from the float64 result on the operands
// that the backend itself has computed. Errors do not add up through a program,
// so a wrong kernel stands out wherever it is. A program that fails is shrunk
// and reported with the command that makes it again.
package fuzz

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/audit/generate"
	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
	"forgekernel/forge/plan"
)

// Defaults of [Options].
const (
	DefaultCount = 100
	DefaultSeed  = 1
	// maxFailures ends a run: one defect fails many programs.
	maxFailures = 10
)

// Options choose the programs of [Run].
type Options struct {
	Count int    // programs
	Seed  uint64 // of the first; each further program has the next
	// Progress, if set, is called when more programs are done.
	Progress func(done int)
}

// Version is the version of [Report]'s JSON form. A field may be added within a
// version; a change of meaning makes a new one.
const Version = 1

// Report is the outcome of a run.
type Report struct {
	Format   string   `json:"format"` // "forge.fuzz"
	Version  int      `json:"version"`
	Seed     uint64   `json:"seed"`
	Backends []string `json:"backends"` // beside the interpreter
	Programs int      `json:"programs"` // that were checked
	Nodes    int      `json:"nodes"`    // of all programs
	// Stopped counts programs that fail when they run, as an index beyond a
	// table does; of these only passes and plans were verified.
	Stopped  int       `json:"stopped"`
	Failures []Failure `json:"failures"`
}

// Failure is a program that the compiler gets wrong.
type Failure struct {
	Seed  uint64 `json:"seed"`
	Stage string `json:"stage"` // "pass simplify", "plan", "backend interp", "text form"
	// Detail says what is wrong with the program as it was generated.
	Detail string `json:"detail"`
	// Disabled passes of the pipeline, separated by commas.
	Disabled string `json:"disabled,omitempty"`
	Language string `json:"language"` // of Program: "forgescript" or "ir"
	Program  string `json:"program"`  // the shrunk program
	Nodes    int    `json:"nodes"`    // of the shrunk program
	Was      int    `json:"was"`      // nodes of the program as it was generated
	Inputs   string `json:"inputs"`   // of the shrunk program, for a person
	Command  string `json:"command"`  // makes the failure again
}

// Checker compares programs. Its fields are what is under test, [NewChecker]
// those of the compiler.
type Checker struct {
	Passes func(*ir.Graph, pass.Options) (*pass.Result, error)
	Plan   func(*ir.Graph, plan.Options) (*plan.Plan, error)
	// Backends run the optimised program.
	Backends []backend.Backend
}

// trial is the program of a seed under a pipeline.
type trial struct {
	*generate.Case
	seed     uint64
	disabled []string
}

// Run checks programs, for backends that compile several at once so many at a
// time. The error is the cause that ended ctx, with the report so far, or a defect
// of the generator.
func (c *Checker) Run(ctx context.Context, opts Options) (*Report, error) {
	ctx = generate.WithPeer(ctx)
	r := &Report{Format: "forge.fuzz", Version: Version, Seed: opts.Seed, Backends: []string{}, Failures: []Failure{}}
	for _, b := range c.Backends {
		r.Backends = append(r.Backends, b.Name())
	}
	for r.Programs < opts.Count && len(r.Failures) < maxFailures {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		var trials []trial
		for range min(c.atOnce(), opts.Count-r.Programs) {
			t, err := newTrial(opts.Seed + uint64(r.Programs+len(trials)))
			if err != nil {
				return r, err
			}
			trials = append(trials, t)
		}
		list, err := c.check(ctx, trials...)
		if err != nil {
			return r, err
		}
		if err := c.record(ctx, r, list); err != nil {
			return r, err
		}
		if opts.Progress != nil {
			opts.Progress(r.Programs)
		}
	}
	return r, nil
}

// atOnce is how many programs are checked together.
func (c *Checker) atOnce() int {
	for _, b := range c.Backends {
		if _, ok := b.(unitCompiler); ok {
			return unitPrograms
		}
	}
	return 1
}

// record counts programs and shrinks those that failed.
func (c *Checker) record(ctx context.Context, r *Report, list []*subject) error {
	for _, s := range list {
		r.Programs++
		r.Nodes += len(s.Graph.Nodes)
		if s.stopped {
			r.Stopped++
		}
		if s.verdict.stage == "" {
			continue
		}
		f, err := c.failure(ctx, s)
		if err != nil {
			return err
		}
		if r.Failures = append(r.Failures, f); len(r.Failures) == maxFailures {
			return nil
		}
	}
	return nil
}

// newTrial makes the program of a seed and chooses passes to leave out.
func newTrial(seed uint64) (trial, error) {
	made, err := generate.New(seed)
	if err != nil {
		return trial{}, err
	}
	t := trial{Case: made, seed: seed}
	rng := rand.New(rand.NewPCG(seed, 23))
	if rng.IntN(2) == 0 {
		for _, name := range pass.Names() {
			if rng.IntN(4) == 0 {
				t.disabled = append(t.disabled, name)
			}
		}
	}
	return t, nil
}

// failure shrinks a program that failed.
func (c *Checker) failure(ctx context.Context, s *subject) (Failure, error) {
	small, err := c.shrink(ctx, s)
	if err != nil {
		return Failure{}, err
	}
	f := Failure{
		Seed: s.seed, Stage: s.verdict.stage, Detail: s.verdict.detail, Disabled: strings.Join(small.disabled, ","),
		Nodes: len(small.Graph.Nodes), Was: len(s.Graph.Nodes), Inputs: describe(small),
		Command: fmt.Sprintf("forge fuzz --count 1 --seed %d", s.seed),
	}
	for _, b := range c.Backends {
		f.Command += " --backend " + b.Name()
	}
	f.Language, f.Program = "ir", small.Graph.String()
	if text, ok := forgeScript(small.Graph); ok {
		f.Language, f.Program = "forgescript", text
	}
	return f, nil
}

// describe lists the inputs of a program with their elements.
func describe(t trial) string {
	var b strings.Builder
	for i, v := range t.Graph.Inputs {
		fmt.Fprintf(&b, "%v = %v %v\n", v, v.Spec, t.Inputs[i].Values())
	}
	return b.String()
}

// Err is nil for a clean report, and otherwise counts its failures.
func (r *Report) Err() error {
	if len(r.Failures) == 0 {
		return nil
	}
	return errors.New(r.summary())
}

func (r *Report) summary() string {
	text := fmt.Sprintf("%s of %s from seed %d", display.Count(r.Programs, "program"), display.Count(r.Nodes, "node"), r.Seed)
	if len(r.Backends) > 0 {
		text += " on " + strings.Join(r.Backends, ", ")
	}
	text += ": "
	if len(r.Failures) == 0 {
		text += "no failures"
	} else {
		text += fmt.Sprintf("%d failures", len(r.Failures))
	}
	if r.Stopped > 0 {
		text += fmt.Sprintf("; %d ended with an error of their own", r.Stopped)
	}
	return text
}

// Text is the report for a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "seed %d fails in %s: %s\n", f.Seed, f.Stage, f.Detail)
		fmt.Fprintf(&b, "shrunk from %d nodes to %d:\n\n%s\n%s", f.Was, f.Nodes, f.Program, f.Inputs)
		if f.Disabled != "" {
			fmt.Fprintf(&b, "without the passes %s\n", f.Disabled)
		}
		fmt.Fprintf(&b, "again: %s\n\n", f.Command)
	}
	b.WriteString(r.summary() + "\n")
	return b.String()
}
