package capture

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// Blocks begin evenly over their time, prepare every candidate anew, and have as many
// rounds as the budget allowed in the first.
func TestBlocks(t *testing.T) {
	clock := new(fakeClock)
	var begun []time.Duration
	preparing := &counted{fake: fake{label: Label{"a", Written, 1}, clock: clock, times: microseconds(400)}}
	m := instrument(clock, Settings{Samples: 60, Warmup: 1, Seed: 7, Blocks: 6, Spread: 6 * time.Second, Budget: 6 * 2 * time.Millisecond})
	asleep := m.Clock.Sleep
	m.Clock.Sleep = func(ctx context.Context, d time.Duration) error {
		err := asleep(ctx, d)
		begun = append(begun, clock.wall)
		return err
	}
	c, err := m.Measure(t.Context(), []*Subject{subject(t, "layer")}, []Candidate{preparing})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(begun); i++ {
		if apart := begun[i] - begun[i-1]; apart != time.Second {
			t.Errorf("block %d began %v after the one before it", i+1, apart)
		}
	}
	// A round is a run that is not timed and one that is: 0.8 ms of 2 ms for a block.
	if n := len(c.Workloads[0].Series[0].Wall); preparing.times != 6 || len(begun) != 5 || n != 18 {
		t.Errorf("prepared %d times for blocks at %v, %d samples", preparing.times, begun, n)
	}
	again, err := Decode(encode(t, c))
	if err != nil || again.Settings != c.Settings {
		t.Errorf("read again: %v, %v", again, err)
	}
	again.Workloads[0].Series[0].Wall = again.Workloads[0].Series[0].Wall[:17]
	again.Workloads[0].Series[0].CPU = again.Workloads[0].Series[0].CPU[:17]
	if err := Verify(again); err == nil || !strings.Contains(err.Error(), "17 samples") {
		t.Errorf("blocks of unequal numbers: %v", err)
	}
}

// counted counts how often it is prepared.
type counted struct {
	fake
	times int
	fails int // the time that fails; 0 is none
}

func (c *counted) Prepare(ctx context.Context, s *Subject) (Prepared, error) {
	if c.times++; c.times == c.fails {
		return Prepared{}, errors.New("out of memory")
	}
	return c.fake.Prepare(ctx, s)
}

// A candidate that cannot be prepared again has failed, and when none is left nobody
// waits for further blocks.
func TestBlocksFail(t *testing.T) {
	clock := new(fakeClock)
	broken := &counted{fake: fake{label: Label{"a", Written, 1}, clock: clock, times: microseconds(1)}, fails: 3}
	m := instrument(clock, Settings{Samples: 6, Warmup: 1, Blocks: 6, Spread: time.Hour})
	c, err := m.Measure(t.Context(), []*Subject{subject(t, "layer")}, []Candidate{broken})
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Workloads[0].Series[0]; s.Error != "out of memory" || s.Wall != nil || clock.wall > 21*time.Minute {
		t.Errorf("series %+v after %v", s, clock.wall)
	}
	cancelled := errors.New("stopped")
	m.Clock.Sleep = func(context.Context, time.Duration) error { return cancelled }
	broken.times, broken.fails = 0, 0
	if _, err := m.Measure(t.Context(), []*Subject{subject(t, "layer")}, []Candidate{broken}); !errors.Is(err, cancelled) {
		t.Errorf("error %v", err)
	}
}

func TestBlocksRefused(t *testing.T) {
	for want, s := range map[string]Settings{
		"5 blocks of 25 samples":         {Blocks: 5},
		"-6 blocks":                      {Blocks: -6},
		"30 blocks of 25 samples":        {Blocks: 30},
		"do not divide into 10 blocks":   {Blocks: 10},
		"0 blocks of 25":                 {Spread: time.Second},
		"spread over -1s":                {Blocks: 25, Spread: -time.Second},
		"spread over 1h0m1s; it is at m": {Blocks: 25, Spread: time.Hour + time.Second},
	} {
		s.Samples, s.Warmup = 25, 1
		if err := s.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

func TestSleep(t *testing.T) {
	if err := sleep(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stopped")
	cancel(cause)
	if err := sleep(ctx, time.Hour); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
}

func TestBlockMedians(t *testing.T) {
	got := blockMedians([]float64{3, 1, 2, 9, 7, 8}, 2)
	if !slices.Equal(got, []float64{2, 8}) {
		t.Errorf("medians %v", got)
	}
}
