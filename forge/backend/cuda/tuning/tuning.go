// Package tuning is the record of measuring, on a device, the kernels that nodes of a
// program can have: what was timed, what was not and why, and which follow from it.
//
// A [Record] holds every sample. The candidates of a node took turns, each sample being
// one launch of many runs in a row, timed by the device's own events; the median decides.
// Candidates within [capture.Tie] of the quickest are ties, which go to the first in the
// order of the candidates, of which the first is what the backend takes untuned. [Decode]
// derives verdicts again.
package tuning

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"forgekernel/forge/capture"
	"forgekernel/forge/sealed"
)

// Limits of a record.
const (
	MaxFile       = 16 << 20 // bytes
	MaxNodes      = 4096
	MaxCandidates = 256
	MaxSamples    = 10_000 // of a candidate
)

// kind is that of the files. A change of meaning makes a new version.
var kind = sealed.Kind{Format: "forge.tuning.cuda", Version: 1, Limit: MaxFile}

// Record is what tuning a program on a device measured.
type Record struct {
	Key      string    `json:"key"`     // see [Machine.Key]
	Program  string    `json:"program"` // the name of the one that was measured
	Taken    time.Time `json:"taken"`   // UTC
	Machine  Machine   `json:"machine"`
	Settings Settings  `json:"settings"`
	Nodes    []Node    `json:"nodes"` // in the order in which they first run
}

// Settings say how long to measure.
type Settings struct {
	Rounds int           `json:"rounds"`    // samples of each candidate
	Sample time.Duration `json:"sample_ns"` // that one takes, about
	// Budget is the time after which no further node is begun.
	Budget time.Duration `json:"budget_ns"`
	Seed   uint64        `json:"seed"` // of the inputs
}

// DefaultSettings are those of a trustworthy record.
func DefaultSettings() Settings {
	return Settings{Rounds: 15, Sample: 500 * time.Microsecond, Budget: 60 * time.Second, Seed: 1}
}

// Node is what was measured on the nodes of one shape.
type Node struct {
	// Shape names what the choice depends on: the operator, types, sizes, strides.
	Shape  string   `json:"shape"`
	Values []string `json:"values"` // what these nodes compute: "%h"
	FLOPs  int64    `json:"flops"`  // of one
	Bytes  int64    `json:"bytes"`  // of memory traffic of one, at least
	// Candidates begin with what the backend takes untuned.
	Candidates []Candidate `json:"candidates"`
	// Absent says which kinds of kernels the node does not have, and why: "there is no
	// Triton: …".
	Absent []string `json:"absent,omitempty"`
	// Note says why nothing was measured; empty if something was.
	Note string `json:"note,omitempty"`
}

// Candidate is one way to run a node, with its samples in seconds per run.
type Candidate struct {
	Name    string        `json:"name"`
	Verdict Verdict       `json:"verdict"`
	Error   string        `json:"error,omitempty"` // why it could not run, or what the gate says
	Gate    *capture.Gate `json:"gate,omitempty"`
	Runs    int           `json:"runs_per_sample,omitempty"`
	Samples []float64     `json:"samples_s,omitempty"`
}

// Verdict is what became of a candidate.
type Verdict string

// Verdicts.
const (
	Chosen     Verdict = "chosen"
	Tie        Verdict = "tie" // as fast as the chosen one, later in order
	Slower     Verdict = "slower"
	Rejected   Verdict = "rejected"   // failed or wrong, and not timed
	Unmeasured Verdict = "unmeasured" // the node was not measured
)

// Median is the time of a run in seconds; 0 when there is none.
func (c *Candidate) Median() float64 {
	if len(c.Samples) == 0 {
		return 0
	}
	return capture.Summarise(c.Samples).Median
}

// best is the least median, 0 when there is none.
func (n *Node) best() float64 {
	best := 0.0
	for i := range n.Candidates {
		if m := n.Candidates[i].Median(); m > 0 && (best == 0 || m < best) {
			best = m
		}
	}
	return best
}

// Pick is the candidate that follows from the samples; the first when there are none.
func (n *Node) Pick() int {
	limit := n.best() * (1 + capture.Tie)
	return max(0, slices.IndexFunc(n.Candidates, func(c Candidate) bool {
		m := c.Median()
		return m > 0 && m <= limit
	}))
}

// Settle gives every candidate its verdict.
func (n *Node) Settle() {
	pick, limit := n.Pick(), n.best()*(1+capture.Tie)
	for i := range n.Candidates {
		c := &n.Candidates[i]
		switch m := c.Median(); {
		case c.Error != "":
			c.Verdict = Rejected
		case m == 0 && n.Note != "":
			c.Verdict = Unmeasured
		case i == pick:
			c.Verdict = Chosen
		case m <= limit:
			c.Verdict = Tie
		default:
			c.Verdict = Slower
		}
	}
}

// Encode returns a record as the content of a file. It fails for one that [Decode]
// would refuse.
func Encode(r *Record) ([]byte, error) {
	if err := r.verify(); err != nil {
		return nil, err
	}
	return kind.Encode(r)
}

// Decode reads the content of a file, checks its hash and derives the verdicts again.
func Decode(raw []byte) (*Record, error) {
	r := new(Record)
	if err := kind.Decode(raw, r); err != nil {
		return nil, err
	}
	return r, r.verify()
}

// verify checks sizes and that the verdicts follow from the samples.
func (r *Record) verify() error {
	if len(r.Nodes) > MaxNodes {
		return fmt.Errorf("it has %d nodes; there are at most %d", len(r.Nodes), MaxNodes)
	}
	for i := range r.Nodes {
		if err := r.Nodes[i].verify(); err != nil {
			return fmt.Errorf("node %q: %w", r.Nodes[i].Shape, err)
		}
	}
	return nil
}

func (n *Node) verify() error {
	if k := len(n.Candidates); k < 1 || k > MaxCandidates {
		return fmt.Errorf("%d candidates; there are 1 to %d", k, MaxCandidates)
	}
	for _, c := range n.Candidates {
		if len(c.Samples) > MaxSamples || slices.ContainsFunc(c.Samples, func(t float64) bool { return !(t > 0) || t-t != 0 }) {
			return fmt.Errorf("%s has samples that are no times", c.Name)
		}
		if len(c.Samples) > 0 && (c.Error != "" || c.Gate == nil || !c.Gate.Passed()) {
			return fmt.Errorf("%s was timed and did not pass the gate", c.Name)
		}
	}
	if n.Note == "" && n.best() == 0 {
		return errors.New("nothing was measured, and it does not say why")
	}
	derived := *n
	derived.Candidates = slices.Clone(n.Candidates)
	derived.Settle()
	for i, c := range derived.Candidates {
		if told := n.Candidates[i].Verdict; c.Verdict != told {
			return fmt.Errorf("%s is %q by its samples, not %q", c.Name, c.Verdict, told)
		}
	}
	return nil
}
