// Package capture is the measuring instrument of the compiler.
//
// A [Capture] is one run of measurements: for each workload the program and its
// memory plan, and for each candidate, which is one way to run the program, the
// raw samples. It tells where it was taken ([Environment]), how ([Settings]) and
// from what (hashes of the program and of the inputs).
//
// Candidates are timed in turn, one short sample each per round, and every
// round starts with another one, so that what disturbs the machine disturbs all
// alike. A sample follows one run that is not timed, which brings the candidate's
// code and data back into the caches. None is timed before its results have
// passed the gate: they are compared with those of the float64 reference. All
// samples are kept.
//
// What is said of times follows from estimates and their intervals ([Estimate]), never
// from single samples: which candidate of a workload is the fastest and which tie with it
// ([Workload.Rank]) goes by the same [Verdict] as every comparison of two.
//
// A candidate may run in another process, and then times its runs there: package
// benchmarks has other libraries as such peers.
//
// A file of a capture carries the SHA-256 of its content, and [Read] trusts none:
// it checks the hash, derives every number again that others follow from, and
// proves the recorded plans. Tables and figures are drawn from captures that were
// read this way, and from nothing else.
package capture

import (
	"encoding/json"
	"strconv"
	"time"

	"forgekernel/forge/tensor"
)

// Capture is one run of measurements.
type Capture struct {
	// ID is a UUID of version 7: it holds Taken in milliseconds, so that ids sort
	// by time.
	ID          string      `json:"id"`
	Taken       time.Time   `json:"taken"` // UTC, when measuring began
	Environment Environment `json:"environment"`
	Settings    Settings    `json:"settings"`
	Workloads   []Workload  `json:"workloads"`
}

// Settings say how a capture was taken.
type Settings struct {
	Samples int    `json:"samples"` // of each candidate
	Warmup  int    `json:"warmup"`  // runs before the first sample
	Seed    uint64 `json:"seed"`    // of the inputs
	// MinSample is the shortest stretch that is timed, in nanoseconds; a quicker
	// program runs several times per sample.
	MinSample time.Duration `json:"min_sample_ns"`
	// Budget ends the rounds of a workload early, after at least one: slow programs
	// have fewer samples. Zero is no limit.
	Budget time.Duration `json:"budget_ns,omitempty"`
	// Blocks divide the rounds into parts of equal numbers, the beginnings of which
	// are Spread evenly over a time; see [Series.Estimate]. Zero is none.
	Blocks int           `json:"blocks,omitempty"`
	Spread time.Duration `json:"spread_ns,omitempty"`
}

// Workload is what was measured on one program.
type Workload struct {
	Name string `json:"name"`
	// Load is the load average over a minute when its measurement began.
	Load string `json:"load"`
	// Written and Optimised are the hashes of the program before and after the
	// passes, constants included.
	Written   string  `json:"written_hash"`
	Optimised string  `json:"optimised_hash"`
	Inputs    []Input `json:"inputs"`
	FLOPs     int64   `json:"flops"` // of the program as written
	Bytes     int64   `json:"bytes"` // of memory traffic of the optimised program, at least
	// Outline is the program as written, Program the optimised one in the order in
	// which Plan runs it; both without the elements of constants.
	Outline json.RawMessage `json:"outline"`
	Program json.RawMessage `json:"program"`
	Plan    json.RawMessage `json:"plan"`
	Series  []Series        `json:"series"` // in the order of the candidates
}

// Input is one argument of a program.
type Input struct {
	Name   string `json:"name"`
	DType  string `json:"dtype"`
	Shape  []int  `json:"shape"`
	SHA256 string `json:"sha256"` // of its elements, little-endian
}

// Label tells a candidate from the others of a workload.
type Label struct {
	Backend string  `json:"backend"`
	Variant Variant `json:"variant"`
	Threads int     `json:"threads"`
}

// Variant says which program a candidate runs.
type Variant string

// Variants.
const (
	Written   Variant = "written"   // as traced, before any pass
	Optimised Variant = "optimised" // after all passes
	Peer      Variant = "peer"      // as written, by another library in its own way
)

// known reports whether v is one of the variants.
func (v Variant) known() bool { return v == Written || v == Optimised || v == Peer }

// CacheState says where the code of a candidate came from.
type CacheState string

// Cache states.
const (
	NoCache CacheState = "none" // it keeps nothing between runs
	Miss    CacheState = "miss" // compiled for this capture
	Hit     CacheState = "hit"  // found compiled
)

// Series is what was measured of one candidate.
type Series struct {
	Label
	Cache   CacheState `json:"cache"`
	Prepare float64    `json:"prepare_s"` // wall time of compiling, in seconds; no part of a sample
	// Error says why there are no samples; empty if there are.
	Error string `json:"error,omitempty"`
	Gate  *Gate  `json:"gate,omitempty"` // nil if preparing or running failed
	// Runs is the number of runs in each sample.
	Runs int `json:"runs_per_sample,omitempty"`
	// Wall and CPU are seconds per run, of the clock and of all threads of the
	// process that runs it. Element i was taken in round i, in which the candidate of index
	// i modulo their number came first.
	Wall []float64 `json:"wall_s,omitempty"`
	CPU  []float64 `json:"cpu_s,omitempty"`
	// Device is seconds of one run by the clock of the device that it ran on, taken after
	// each sample of Wall, which has the way there and back as well; empty when there is
	// no such clock.
	Device []float64 `json:"device_s,omitempty"`
	// Summary follows from Wall; [Read] derives it again.
	Summary *Summary `json:"summary,omitempty"`
}

// String is "interp optimised, 2 threads", or "numpy, 1 thread" for a peer.
func (l Label) String() string {
	s := l.Backend
	if l.Variant != Peer {
		s += " " + string(l.Variant)
	}
	if l.Threads == 1 {
		return s + ", 1 thread"
	}
	return s + ", " + strconv.Itoa(l.Threads) + " threads"
}

// Gate is the comparison of a candidate's results with the float64 reference of
// the program as written. An element passes if it is within Absolute + Relative
// times the magnitude of the reference; for results of f32 and f64, Absolute is in units of
// the root mean square of the whole result, where that is more than one.
type Gate struct {
	Relative float64 `json:"relative_tolerance"`
	Absolute float64 `json:"absolute_tolerance"`
	MaxAbs   float64 `json:"max_abs_error"`
	MaxRel   float64 `json:"max_rel_error"`
	// Worst is the largest error in units of what is allowed; at most 1 passes.
	Worst float64 `json:"worst"`
	// NonFinite counts elements that are infinite or NaN. One is too many.
	NonFinite int `json:"non_finite"`
}

// Passed reports whether the candidate may be timed.
func (g *Gate) Passed() bool { return g.NonFinite == 0 && g.Worst <= 1 }

// tolerances are those of a result by its element type. Integers and truth
// values are exact.
var tolerances = map[tensor.DType]struct{ relative, absolute float64 }{
	tensor.F64:  {1e-7, 1e-8},
	tensor.F32:  {1e-4, 1e-4},
	tensor.F16:  {1e-2, 1e-2},
	tensor.BF16: {5e-2, 5e-2},
}
