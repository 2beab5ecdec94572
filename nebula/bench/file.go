package bench

import (
	"errors"
	"fmt"
	"math"

	"forgekernel/forge/capture"
)

// Version is that of the files. A change of meaning makes a new one.
const Version = 1

const format = "nebula.capture"

// Limits of a capture.
const (
	MaxBatches = 64
	MaxRanks   = 1024
	MaxSamples = 10_000  // of a series
	maxTokens  = 1 << 24 // of prompts, continuations, contexts, blocks and batches
)

// Encode returns a capture as the content of a file. It fails for one that [Decode]
// would refuse.
func Encode(c *Capture) ([]byte, error) {
	if err := Verify(c); err != nil {
		return nil, err
	}
	return capture.Seal(format, Version, c)
}

// Decode reads the content of a file and verifies it: see [Verify].
func Decode(raw []byte) (*Capture, error) {
	c := new(Capture)
	if err := capture.Unseal(raw, format, Version, c); err != nil {
		return nil, err
	}
	return c, Verify(c)
}

// Read reads and verifies the file of a capture.
func Read(path string) (*Capture, error) {
	raw, err := capture.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Verify derives again whatever follows from other parts of a capture.
func Verify(c *Capture) error {
	if err := capture.CheckID(c.ID, c.Taken); err != nil {
		return err
	}
	if err := c.checkShape(); err != nil {
		return err
	}
	if !c.Gate.Passed() {
		if c.Gate.Error == "" || len(c.Batches) > 0 {
			return errors.New("the gate was not passed, which takes an error and no samples")
		}
		return nil
	}
	if err := samples("the bandwidth of memory", c.Stream, false); err != nil {
		return err
	}
	if (len(c.Stream) == 0) != (c.NoStream != "") {
		return errors.New("the bandwidth of memory has either samples or a reason why there are none")
	}
	if len(c.Batches) != len(c.Signature.Batches) {
		return fmt.Errorf("there are samples of %d sizes of batch; the signature names %d", len(c.Batches), len(c.Signature.Batches))
	}
	for i, b := range c.Batches {
		if b.Size != c.Signature.Batches[i] {
			return fmt.Errorf("batch %d has the size %d; the signature says %d", i, b.Size, c.Signature.Batches[i])
		}
		if err := c.checkBatch(b); err != nil {
			return fmt.Errorf("batch of %d: %w", b.Size, err)
		}
	}
	return nil
}

// checkShape bounds the numbers that others are multiplied with.
func (c *Capture) checkShape() error {
	s, t := c.Signature, c.Topology
	for _, n := range []struct {
		what string
		n    int
		most int
	}{
		{"tokens of a prompt", s.Prompt, maxTokens}, {"new tokens", s.New, maxTokens}, {"positions of a block", s.Block, maxTokens},
		{"positions of the context", s.Context, maxTokens}, {"sizes of batch", len(s.Batches), MaxBatches}, {"repetitions", c.Repeats, MaxSamples},
		{"TP ranks", t.TP, MaxRanks}, {"stages", t.PP, MaxRanks}, {"threads", t.Threads, maxTokens}, {"local ranks", t.Local, MaxRanks}, {"cores", t.Cores, maxTokens},
		{"ranks", t.Ranks(), MaxRanks},
	} {
		if n.n < 1 || n.n > n.most {
			return fmt.Errorf("%s: %d; there are 1 to %d", n.what, n.n, n.most)
		}
	}
	if s.New < 2 {
		return errors.New("one new token comes with the prefill: a decode takes two")
	}
	if s.Prefix < 0 || s.Prefix > s.Prompt {
		return fmt.Errorf("a common beginning of %d tokens of prompts of %d", s.Prefix, s.Prompt)
	}
	seen := map[int]bool{}
	for _, b := range s.Batches {
		if b < 1 || b > maxTokens || seen[b] {
			return fmt.Errorf("a batch of %d is none, or there twice", b)
		}
		seen[b] = true
	}
	if len(c.Ranks) != t.Ranks() {
		return fmt.Errorf("%d ranks are described; there are %d", len(c.Ranks), t.Ranks())
	}
	for i, r := range c.Ranks {
		if r.Rank != i || r.Stage != i/t.TP || r.Weights < 0 || r.Read < 0 || r.KVPlanned < 0 || r.KVHeld < 0 {
			return fmt.Errorf("rank %d is described as %+v", i, r)
		}
	}
	return nil
}

// checkBatch checks the samples of a batch and derives what follows from them.
func (c *Capture) checkBatch(b Batch) error {
	list := []struct {
		what string
		s    Series
		n    int
	}{
		{"prefill", b.Prefill, c.Repeats}, {"decode", b.Decode, c.Repeats * (c.Signature.New - 1)}, {"serve", b.Serve, c.Repeats},
	}
	if b.Overhead != nil {
		list = append(list, struct {
			what string
			s    Series
			n    int
		}{"overhead", *b.Overhead, len(b.Decode.Samples)})
	}
	if b.Prefix != nil {
		list = append(list, struct {
			what string
			s    Series
			n    int
		}{"serve without sharing", b.Prefix.Serve, c.Repeats})
	}
	for _, x := range list {
		if err := x.s.check(x.what, x.n, x.what == "overhead"); err != nil {
			return err
		}
	}
	if (b.Prefix == nil) != (c.Signature.Prefix == 0) || (b.Overhead == nil) != (c.Topology.PP > 1) {
		return errors.New("what was measured does not fit the signature and the topology")
	}
	if want := map[bool]int{true: c.Topology.Ranks()}[c.Topology.PP > 1]; len(b.Bubbles) != want {
		return fmt.Errorf("there are bubbles of %d ranks, not of %d", len(b.Bubbles), want)
	}
	for rank, list := range b.Bubbles {
		if len(list) != c.Repeats {
			return fmt.Errorf("rank %d has %d bubbles, not %d", rank, len(list), c.Repeats)
		}
		for _, x := range list {
			if !(x >= 0 && x <= 1) {
				return fmt.Errorf("rank %d waits %v of the time", rank, x)
			}
		}
	}
	if want := c.figures(b); want != b.Figures {
		return fmt.Errorf("the figures %+v do not follow from the samples, which give %+v", b.Figures, want)
	}
	return nil
}

// check holds a series to its samples, of which there are to be n.
func (s Series) check(what string, n int, zero bool) error {
	if len(s.Samples) != n || n == 0 {
		return fmt.Errorf("%s has %d samples, not %d", what, len(s.Samples), n)
	}
	if err := samples(what, s.Samples, zero); err != nil {
		return err
	}
	if want := capture.Summarise(s.Samples); want != s.Summary {
		return fmt.Errorf("%s: the median is given as %v s; the samples give %v s", what, s.Summary.Median, want.Median)
	}
	if want := capture.MedianInterval(s.Samples); want != s.Median {
		return fmt.Errorf("%s: the interval of the median is given as %v; the samples give %v", what, s.Median, want)
	}
	return nil
}

// samples checks that all are times, or rates. Differences may be zero, or below by
// the grain of clocks.
func samples(what string, list []float64, difference bool) error {
	if len(list) > MaxSamples {
		return fmt.Errorf("%s has %d samples; there may be %d", what, len(list), MaxSamples)
	}
	for _, x := range list {
		if math.IsNaN(x) || math.IsInf(x, 0) || !difference && x <= 0 {
			return fmt.Errorf("%s has the sample %v", what, x)
		}
	}
	return nil
}
