// Package bench measures jobs.
//
// A [Capture] is one run of measurements of one job: raw samples for each size of
// batch, where they were taken, and what was measured ([Signature]) on which ranks
// ([Topology]). [Run] takes one. It times nothing before the job has passed its gate:
// logits after prompts, logits of decoded tokens and the whole greedy continuation are
// compared with those of a single process without blocks, batches, ranks and rewrites,
// for each size of batch.
//
// # What is timed
//
// All times are of the leader's clock. Two levels are measured in turn, and in every
// repetition the sizes of batch in another order, so that what disturbs the machine
// disturbs all alike.
//
//   - The engine alone: a prefill takes from the submission of the prompts to the
//     logits behind the last of them; a decode step is the time in which the whole
//     batch gets one token further. Its tokens are given, not chosen. With pipeline
//     stages the batch is divided into as many parts as there are stages, all in
//     flight.
//   - The service: all requests of a batch go to the scheduler at once, and tokens are
//     chosen; throughput is the generated tokens over the time of the whole batch,
//     prefill included.
//
// Between them the memory bandwidth of as many cores as the job computes with is
// measured, so that what a decode step reads can be set against what there was at the
// time.
//
// # Files
//
// A file carries the SHA-256 of its content. [Decode] derives again whatever follows
// from the samples and refuses what differs; [Compare] takes captures that were read
// this way, and refuses pairs that say nothing about one another.
package bench

import (
	"fmt"
	"time"

	"forgekernel/forge/capture"
	"forgekernel/nebula/shard"
)

// Capture is one run of measurements of a job.
type Capture struct {
	ID          string              `json:"id"`
	Taken       time.Time           `json:"taken"` // UTC, when measuring began
	Environment capture.Environment `json:"environment"`
	Signature   Signature           `json:"signature"`
	Topology    Topology            `json:"topology"`
	Repeats     int                 `json:"repeats"`
	Gate        Gate                `json:"gate"`
	Ranks       []Rank              `json:"ranks"`
	// Stream is the bandwidth of memory, in bytes a second, of as many cores as the job
	// computes with, before each repetition; empty where it is not known, and NoStream
	// says why.
	Stream   []float64 `json:"stream_byte_per_s"`
	NoStream string    `json:"no_stream,omitempty"`
	Batches  []Batch   `json:"batches"` // none when the gate was not passed
}

// Signature is what was measured. Captures with different ones say nothing about one
// another.
type Signature struct {
	Model   string `json:"model"`  // its name
	SHA256  string `json:"sha256"` // of the file's content, or of the seed and the configuration
	DType   string `json:"dtype"`
	Backend string `json:"backend"`
	Batches []int  `json:"batches"`
	Prompt  int    `json:"prompt_tokens"`
	New     int    `json:"new_tokens"` // of each request; the first comes with the prefill
	Prefix  int    `json:"prefix_tokens"`
	Block   int    `json:"block_size"`
	Context int    `json:"context"`
}

// Topology is the ranks of a job.
type Topology struct {
	TP       int    `json:"tp"`
	PP       int    `json:"pp"`
	Threads  int    `json:"threads"` // of each rank
	Launcher string `json:"launcher"`
	// Local is the number of ranks on the leader's host, and Cores the cores that they
	// have together.
	Local int `json:"local_ranks"`
	Cores int `json:"cores"`
}

// Ranks is their number.
func (t Topology) Ranks() int { return t.TP * t.PP }

// String is "TP 2, PP 1, 1 thread each".
func (t Topology) String() string {
	threads := "threads"
	if t.Threads == 1 {
		threads = "thread"
	}
	return fmt.Sprintf("%v, %d %s each", shard.Layout{TP: t.TP, PP: t.PP}, t.Threads, threads)
}

// Oversubscribed reports whether the ranks of a host compute with more threads than
// they have cores: then ranks wait for one another's cores, and speed-ups are not those
// of the layout.
func (t Topology) Oversubscribed() bool { return t.Local*t.Threads > t.Cores }

// Gate is how the job compared with the reference.
type Gate struct {
	Tolerance float64 `json:"tolerance"` // of logits, relative to the largest of their row
	Reference string  `json:"reference"` // the backend of the single process
	Prompts   int     `json:"prompts"`   // continuations that were compared, over all sizes of batch
	Prefill   float64 `json:"prefill_error"`
	Decode    float64 `json:"decode_error"`
	Tokens    int     `json:"tokens"` // that were compared
	// Ties are continuations that ended early, where the two likeliest tokens were
	// nearer than the tolerance lets them be told apart.
	Ties int `json:"ties"`
	// Error says what differs; empty when the gate was passed.
	Error string `json:"error,omitempty"`
}

// Passed reports whether the job may be timed.
func (g Gate) Passed() bool {
	return g.Error == "" && g.Tokens > 0 && g.Prefill <= g.Tolerance && g.Decode <= g.Tolerance
}

// Rank is what one rank holds, in bytes.
type Rank struct {
	Rank      int   `json:"rank"`
	Stage     int   `json:"stage"`
	Weights   int64 `json:"weights_bytes"`
	Read      int64 `json:"read_bytes"`       // of the weights, by a decode step
	KVPlanned int64 `json:"kv_planned_bytes"` // by the formula
	KVHeld    int64 `json:"kv_held_bytes"`    // of the tensors that there are
}

// Batch is what was measured with one size of batch.
type Batch struct {
	Size    int    `json:"size"`
	KVUsed  int64  `json:"kv_used_bytes"` // of all ranks, behind the last decode step
	Prefill Series `json:"prefill"`       // one sample a repetition
	// Decode has a sample for each decode step of each repetition.
	Decode Series `json:"decode"`
	// Overhead is what each of these steps took beyond the compiled program of rank 0;
	// nil with pipeline stages, whose steps overlap.
	Overhead *Series `json:"overhead,omitempty"`
	Serve    Series  `json:"serve"` // the whole batch through the scheduler, one sample a repetition
	// Bubbles is the share of time in which stages waited, a list for each rank with one
	// sample a repetition; nil without stages.
	Bubbles [][]float64 `json:"bubbles,omitempty"`
	// Prefix is what a common beginning of all prompts saves; nil when there is none.
	Prefix  *Prefix `json:"prefix,omitempty"`
	Figures Figures `json:"figures"`
}

// Series is samples of one thing, in seconds.
type Series struct {
	Samples []float64        `json:"samples_s"`
	Summary capture.Summary  `json:"summary"`
	Median  capture.Interval `json:"median_interval"` // 95 %
}

func newSeries(samples []float64) Series {
	return Series{Samples: samples, Summary: capture.Summarise(samples), Median: capture.MedianInterval(samples)}
}

// Prefix compares prompts that share their beginning with the same ones computed each
// on its own.
type Prefix struct {
	Shared   Work   `json:"shared"`
	Unshared Work   `json:"unshared"`
	Serve    Series `json:"unshared_serve"` // as Batch.Serve, without sharing
}

// Work is what the scheduler had the engine do.
type Work struct {
	Prompt int   `json:"prompt_tokens"` // computed
	KV     int64 `json:"kv_bytes"`      // of all ranks, in use at the most
}

// Figures follow from the samples. Those that say nothing here are zero.
type Figures struct {
	PrefillRate float64 `json:"prefill_token_per_s"`
	DecodeRate  float64 `json:"decode_token_per_s"` // of the median decode step
	Throughput  float64 `json:"token_per_s"`        // of the service: generated tokens over the time of the batch
	// Share is the weights that a decode step reads over the time of the median step, as
	// a part of the median bandwidth, and Best that of the quickest step, of the highest.
	Share float64 `json:"bandwidth_share"`
	Best  float64 `json:"best_bandwidth_share"`
	// Bubble is the median share of time in which the stage that waits most waits.
	Bubble float64 `json:"bubble"`
}

// figures derives those of a batch.
func (c *Capture) figures(b Batch) Figures {
	f := Figures{
		PrefillRate: float64(b.Size*c.Signature.Prompt) / b.Prefill.Summary.Median,
		DecodeRate:  float64(b.Size) / b.Decode.Summary.Median,
		Throughput:  float64(b.Size*c.Signature.New) / b.Serve.Summary.Median,
	}
	if len(c.Stream) > 0 {
		var read int64
		for _, r := range c.Ranks {
			read += r.Read
		}
		s := capture.Summarise(c.Stream)
		fastest := s.Median
		for _, rate := range c.Stream {
			fastest = max(fastest, rate)
		}
		f.Share = float64(read) / b.Decode.Summary.Median / s.Median
		f.Best = float64(read) / b.Decode.Summary.Min / fastest
	}
	for _, samples := range b.Bubbles {
		f.Bubble = max(f.Bubble, capture.Summarise(samples).Median)
	}
	return f
}
