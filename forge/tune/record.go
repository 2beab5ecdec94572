package tune

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/capture"
	"forgekernel/forge/sealed"
)

// Version is that of the files. A change of meaning, or of what the backend makes
// of a schedule, makes a new one.
const Version = 1

// Limits of a record.
const (
	MaxFile       = 16 << 20 // bytes
	MaxKernels    = 4096
	MaxCandidates = 256
	MaxSamples    = 10_000 // of a list
)

// Record is what tuning a program measured and chose.
type Record struct {
	// Key is cpu-<hardware>-<structural hash>-<compiler>.
	Key      string    `json:"key"`
	Program  string    `json:"program"` // the name of the one that was measured
	Taken    time.Time `json:"taken"`   // UTC
	Machine  Machine   `json:"machine"`
	Settings Settings  `json:"settings"`
	// Peak is what a loop of multiply-adds reached on one core, in FLOP/s.
	Peak    float64  `json:"peak_flops"`
	Kernels []Kernel `json:"kernels"` // in the order in which they first run
	// Check compares the whole program; nil when tuning changed nothing.
	Check *Check `json:"check,omitempty"`
}

// Kernel is what was measured on the kernels of one shape.
type Kernel struct {
	Shape  string   `json:"shape"`
	Values []string `json:"values"` // what these kernels compute: "%h"
	FLOPs  int64    `json:"flops"`  // of one
	Bytes  int64    `json:"bytes"`  // of memory traffic of one, at least
	// Candidates begin with the backend's own choice, in the order that breaks ties.
	Candidates []Candidate `json:"candidates"`
	// Note says why nothing was measured; empty if something was.
	Note string `json:"note,omitempty"`
}

// Candidate is one schedule with its samples, in seconds per run.
type Candidate struct {
	Schedule cpu.Schedule  `json:"schedule"`
	Verdict  Verdict       `json:"verdict"`
	Cost     float64       `json:"cost"` // predicted, in a unit of the kernel's own; 0 for none
	Error    string        `json:"error,omitempty"`
	Gate     *capture.Gate `json:"gate,omitempty"`
	Runs     int           `json:"runs_per_sample,omitempty"`
	Samples  []float64     `json:"samples_s,omitempty"`
	Again    []float64     `json:"again_s,omitempty"` // since Samples were far from the prediction
	Final    []float64     `json:"final_s,omitempty"` // of the final
}

// Check is the whole program, untuned and tuned, in seconds per run.
type Check struct {
	Default []float64 `json:"default_s"`
	Tuned   []float64 `json:"tuned_s"`
	Used    bool      `json:"used"` // the tuned program is not slower
}

func (c *Check) notSlower() bool { return least(c.Tuned) <= least(c.Default)*(1+capture.Tie) }

// Ratio is the time of the untuned program by that of the tuned one.
func (c *Check) Ratio() float64 { return least(c.Default) / least(c.Tuned) }

// Chosen is the candidate that was picked.
func (k *Kernel) Chosen() *Candidate { return &k.Candidates[k.decide()] }

// Ratio is the time of the backend's own choice by that of the chosen one, both in
// the final; 1 where nothing was measured.
func (k *Kernel) Ratio() float64 {
	own, pick := least(k.Candidates[0].Final), least(k.Chosen().Final)
	if own == 0 || pick == 0 {
		return 1
	}
	return own / pick
}

func (k *Kernel) work() int64 { return k.FLOPs * int64(len(k.Values)) }

func (k *Kernel) schedules() []cpu.Schedule {
	list := make([]cpu.Schedule, len(k.Candidates))
	for i, c := range k.Candidates {
		list[i] = c.Schedule
	}
	return list
}

// chosen are the schedules other than the backend's own.
func (r *Record) chosen() cpu.Schedules {
	list := make(cpu.Schedules)
	for i := range r.Kernels {
		if k := &r.Kernels[i]; k.decide() != 0 {
			list[k.Shape] = k.Chosen().Schedule
		}
	}
	return list
}

// Schedules are what to compile with: the chosen ones, or none when the program is
// slower with them.
func (r *Record) Schedules() cpu.Schedules {
	if r.Check == nil || !r.Check.Used {
		return nil
	}
	return r.chosen()
}

// kind is that of the files.
var kind = sealed.Kind{Format: "forge.tuning", Version: Version, Limit: MaxFile}

// Encode returns a record as the content of a file. It fails for one that [Decode]
// would refuse.
func Encode(r *Record) ([]byte, error) {
	if err := r.verify(); err != nil {
		return nil, err
	}
	return kind.Encode(r)
}

// Decode reads the content of a file, checks its hash and derives the choices again.
func Decode(raw []byte) (*Record, error) {
	r := new(Record)
	if err := kind.Decode(raw, r); err != nil {
		return nil, err
	}
	return r, r.verify()
}

// verify checks sizes and that the verdicts follow from the samples.
func (r *Record) verify() error {
	if len(r.Kernels) > MaxKernels {
		return fmt.Errorf("it has %d kernels; there are at most %d", len(r.Kernels), MaxKernels)
	}
	for i := range r.Kernels {
		if err := r.Kernels[i].verify(); err != nil {
			return fmt.Errorf("kernel %q: %w", r.Kernels[i].Shape, err)
		}
	}
	if c := r.Check; c != nil {
		if !samples(c.Default) || !samples(c.Tuned) || len(c.Default) == 0 || len(c.Tuned) == 0 {
			return errors.New("the check of the program has no samples")
		}
		if c.Used != c.notSlower() {
			return errors.New("the check of the program does not follow from its samples")
		}
	}
	return nil
}

func (k *Kernel) verify() error {
	if n := len(k.Candidates); n < 1 || n > MaxCandidates {
		return fmt.Errorf("%d candidates; there are 1 to %d", n, MaxCandidates)
	}
	told := make([]Verdict, len(k.Candidates))
	for i, c := range k.Candidates {
		if !samples(c.Samples) || !samples(c.Again) || !samples(c.Final) {
			return fmt.Errorf("%v has samples that are no times", c.Schedule)
		}
		if timed := c.Best() > 0; timed && (c.Error != "" || c.Gate == nil || !c.Gate.Passed()) {
			return fmt.Errorf("%v was timed and did not pass the gate", c.Schedule)
		}
		told[i] = c.Verdict
	}
	if k.Note == "" && k.Chosen().Best() == 0 {
		return errors.New("nothing was measured, and it does not say why")
	}
	derived := *k
	derived.Candidates = slices.Clone(k.Candidates)
	derived.settle()
	for i, c := range derived.Candidates {
		if c.Verdict != told[i] {
			return fmt.Errorf("%v is %q by its samples, not %q", c.Schedule, c.Verdict, told[i])
		}
	}
	return nil
}

// samples reports whether a list is one of times.
func samples(list []float64) bool {
	return len(list) <= MaxSamples && !slices.ContainsFunc(list, func(t float64) bool { return !(t > 0) })
}
