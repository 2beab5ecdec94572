package display

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a sink that keeps what it was shown.
type recorder struct {
	mu      sync.Mutex
	outputs []Output
	clears  []bool
}

func (r *recorder) Show(o Output) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outputs = append(r.outputs, o)
	return nil
}

func (r *recorder) Clear(wait bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clears = append(r.clears, wait)
	return nil
}

func (r *recorder) texts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, o := range r.outputs {
		out = append(out, o.Bundle.Data[mimeText].(string))
	}
	return out
}

// metered runs work against a meter in fake time and returns what was shown.
func metered(t *testing.T, total int, work func(ctx context.Context, m *Meter)) *recorder {
	t.Helper()
	r := &recorder{}
	synctest.Test(t, func(t *testing.T) {
		ctx := WithSink(t.Context(), r)
		work(ctx, Progress(ctx, "tune", total))
		synctest.Wait()
	})
	return r
}

func wantTexts(t *testing.T, r *recorder, want ...string) {
	t.Helper()
	if got := r.texts(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("shown:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestProgressIsSilentForShortWork(t *testing.T) {
	r := metered(t, 3, func(_ context.Context, m *Meter) {
		for range 3 {
			time.Sleep(300 * time.Millisecond)
			m.Add(1)
		}
		m.Done()
		time.Sleep(time.Minute)
	})
	wantTexts(t, r)
}

func TestProgressAppearsWithoutAnyStep(t *testing.T) {
	r := metered(t, 8, func(_ context.Context, m *Meter) {
		time.Sleep(1500 * time.Millisecond)
		m.Done()
	})
	wantTexts(t, r,
		"tune [------------------------] 0/8  0%  0/s",
		"tune [########################] 8/8  done in 1.5 s (5.33/s)")
}

func TestProgressRateAndTimeLeft(t *testing.T) {
	r := metered(t, 120, func(_ context.Context, m *Meter) {
		time.Sleep(900 * time.Millisecond)
		m.Set(10)
		time.Sleep(time.Second + 100*time.Millisecond)
		m.Add(10)
		time.Sleep(50 * time.Millisecond)
		m.Add(1) // too soon after the last: sent by the timer
		time.Sleep(time.Second)
		m.Fail(errors.New("compiler exited\nwith status 1"))
		m.Add(5)
		m.Done()
	})
	wantTexts(t, r,
		"tune [##----------------------] 10/120  8%  10.0/s  11 s left",
		"tune [####--------------------] 20/120  16%  10.0/s  10 s left",
		"tune [####--------------------] 21/120  17%  10.0/s  9.9 s left",
		"tune [####--------------------] 21/120  failed after 3.0 s: compiler exited with status 1")
	first, last := r.outputs[0], r.outputs[len(r.outputs)-1]
	if first.Update || first.ID == "" || !last.Update || last.ID != first.ID {
		t.Errorf("first output %q update=%v, last %q update=%v", first.ID, first.Update, last.ID, last.Update)
	}
	if h := last.Bundle.Data[mimeHTML].(string); !strings.Contains(h, `value="21" max="120"`) || !strings.Contains(h, "#cf222e") {
		t.Errorf("final HTML %s", h)
	}
}

func TestProgressIsThrottled(t *testing.T) {
	r := metered(t, 10_000, func(_ context.Context, m *Meter) {
		for range 10_000 { // five seconds of work
			time.Sleep(500 * time.Microsecond)
			m.Add(1)
		}
		m.Done()
	})
	if n := len(r.outputs); n < 35 || n > 42 { // four visible seconds
		t.Errorf("%d outputs in four seconds, want about 40", n)
	}
	if got := r.texts()[len(r.outputs)-1]; !strings.Contains(got, "10000/10000  done in 5.0 s") {
		t.Errorf("last output %q", got)
	}
}

func TestProgressOfStages(t *testing.T) {
	r := metered(t, 0, func(_ context.Context, m *Meter) {
		time.Sleep(1500 * time.Millisecond)
		m.Stage("check", 2)
		time.Sleep(500 * time.Millisecond)
		m.Add(1)
		time.Sleep(500 * time.Millisecond)
		m.Stage("translate", 4)
		time.Sleep(time.Second)
		m.Done()
		m.Stage("late", 1)
	})
	wantTexts(t, r,
		"tune 1.0 s",
		"check [------------------------] 0/2  0%  0/s",
		"check [############------------] 1/2  50%  2.00/s  0.5 s left",
		"translate [------------------------] 0/4  0%  0/s",
		"translate [########################] 4/4  done in 3.5 s")
}

func TestProgressOfUnknownTotal(t *testing.T) {
	r := metered(t, 0, func(_ context.Context, m *Meter) {
		m.Add(4)
		time.Sleep(2 * time.Second)
		m.Done()
	})
	wantTexts(t, r, "tune 4  4.00/s", "tune 4  done in 2.0 s (2.00/s)")
	if h := r.outputs[0].Bundle.Data[mimeHTML].(string); strings.Contains(h, "value=") {
		t.Errorf("bar of unknown total has a value: %s", h)
	}
}

// Work that counts nothing has no rate.
func TestProgressWithoutCount(t *testing.T) {
	r := metered(t, 0, func(_ context.Context, m *Meter) {
		time.Sleep(2 * time.Second)
		m.Done()
	})
	wantTexts(t, r, "tune 1.0 s", "tune done in 2.0 s")
}

func TestProgressEndsWithItsContext(t *testing.T) {
	r := &recorder{}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(WithSink(t.Context(), r))
		m := Progress(ctx, "tune", 4)
		time.Sleep(2 * time.Second)
		cancel(errors.New("interrupted"))
		synctest.Wait()
		m.Done()
	})
	wantTexts(t, r,
		"tune [------------------------] 0/4  0%  0/s",
		"tune [------------------------] 0/4  failed after 2.0 s: interrupted")
}

func TestProgressIsSafeForConcurrentUse(t *testing.T) {
	r := metered(t, 400, func(_ context.Context, m *Meter) {
		time.Sleep(2 * time.Second)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 100 {
					m.Add(1)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		m.Done()
	})
	if got := r.texts()[len(r.outputs)-1]; !strings.Contains(got, "400/400") {
		t.Errorf("last output %q", got)
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1500 * time.Millisecond: "1.5 s", 12 * time.Second: "12 s", time.Minute: "1m",
		10*time.Minute + 20*time.Second: "10m20s", time.Hour: "1h0m",
	} {
		if got := seconds(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}
