package capture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// fakeClock advances only when a fake candidate runs.
type fakeClock struct{ wall, cpu time.Duration }

func (f *fakeClock) clock() Clock {
	return Clock{
		Date:  func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC) },
		Wall:  func() time.Duration { return f.wall },
		CPU:   func() time.Duration { return f.cpu },
		Sleep: func(_ context.Context, d time.Duration) error { f.wall += d; return nil },
	}
}

// zeros is an endless source of "random" numbers.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// fake is a candidate whose runs take the given times, over and over, and give
// the right results, changed by spoil.
type fake struct {
	label Label
	clock *fakeClock
	times []time.Duration
	spoil func([]*tensor.Tensor)
	err   error // of the run of index failAt
	at    int
	runs  int
	log   *[]string
}

func (f *fake) Label() Label { return f.label }

func (f *fake) Prepare(ctx context.Context, s *Subject) (Prepared, error) {
	f.clock.wall += 5 * time.Millisecond
	f.runs = 0
	exe, err := interp.New().Compile(ctx, s.Written)
	return Prepared{Runner: &fakeRun{f, &execution{exe, s.Inputs}}, Cache: Miss}, err
}

type fakeRun struct {
	*fake
	exe *execution
}

func (r *fakeRun) Run(ctx context.Context) ([]*tensor.Tensor, error) {
	if r.err != nil && r.runs == r.at {
		return nil, r.err
	}
	step := r.times[r.runs%len(r.times)]
	r.runs++
	r.clock.wall += step
	r.clock.cpu += 2 * step
	if r.log != nil {
		*r.log = append(*r.log, r.label.Backend)
	}
	out, err := r.exe.Run(ctx)
	if err == nil && r.spoil != nil {
		r.spoil(out)
	}
	return out, err
}

func subject(t testing.TB, name string) *Subject {
	t.Helper()
	g, err := ir.Parse(op.Registry, `graph layer(%x: f32[2,8], %w: f32[8,4]) {
  %h: f32[2,4] = matmul %x, %w
  %a: f32[2,4] = relu %h
  %y: f32[2,4] = softmax %a {axis = -1}
  return %y
}
`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSubject(name, g, 7)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instrument takes captures of a fixed machine by a fake clock.
func instrument(clock *fakeClock, s Settings) *Instrument {
	return &Instrument{
		Settings: s, Clock: clock.clock(), Random: zeros{},
		Limits: func(context.Context) *Limits { return &Limits{FLOPs: 100e9, Bytes: 20e9} },
		Describe: func(context.Context) Environment {
			return Environment{CPU: "Test 9000", ISA: []string{"AVX2"}, Cores: 4, GoThreads: 4, Platform: "linux/amd64", Tree: Clean, Commit: "c0ffee"}
		},
	}
}

func microseconds(list ...int) []time.Duration {
	out := make([]time.Duration, len(list))
	for i, n := range list {
		out[i] = time.Duration(n) * time.Microsecond
	}
	return out
}

// sample is a capture of two candidates with known times.
func sample(t testing.TB) *Capture {
	t.Helper()
	clock := new(fakeClock)
	slow := &fake{label: Label{"slow", Written, 1}, clock: clock, times: microseconds(100, 100, 102, 98, 110, 90)}
	fast := &fake{label: Label{"fast", Optimised, 2}, clock: clock, times: microseconds(50, 50, 51, 49, 55, 45)}
	c, err := instrument(clock, Settings{Samples: 12, Warmup: 5, Seed: 7}).Measure(t.Context(), []*Subject{subject(t, "layer")}, []Candidate{slow, fast})
	if err != nil {
		t.Fatal(err)
	}
	c.Environment.LoadAfter, c.Workloads[0].Load = "0.50", "0.25" // what is not injected
	return c
}

func encode(t testing.TB, c *Capture) []byte {
	t.Helper()
	raw, err := Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestMeasure(t *testing.T) {
	c := sample(t)
	w := c.Workloads[0]
	if len(w.Series) != 2 || len(w.Inputs) != 2 || w.FLOPs <= 0 {
		t.Fatalf("workload %+v", w)
	}
	s := w.Series[0]
	// The gate and the warm-up took the first six runs. Of the others every second
	// was timed.
	want := []float64{100e-6, 98e-6, 90e-6, 100e-6, 98e-6, 90e-6, 100e-6, 98e-6, 90e-6, 100e-6, 98e-6, 90e-6}
	for i, x := range want {
		if !near(s.Wall[i], x) || !near(s.CPU[i], 2*x) {
			t.Errorf("sample %d took %v s, %v s of CPU time; want %v and twice that", i, s.Wall[i], s.CPU[i], x)
		}
	}
	if s.Runs != 1 || !near(s.Prepare, 5e-3) || s.Cache != Miss || !s.Gate.Passed() || s.Error != "" {
		t.Errorf("series %+v", s)
	}
	if !near(s.Summary.Min, 90e-6) || !near(s.Summary.Median, 98e-6) || !near(s.Summary.Mean, 96e-6) || !near(s.Summary.P95, 100e-6) {
		t.Errorf("summary %+v", *s.Summary)
	}
	if !strings.HasPrefix(c.ID, "019cb") || c.ID != sample(t).ID {
		t.Errorf("id %s, then %s", c.ID, sample(t).ID)
	}
	if first, second := encode(t, c), encode(t, sample(t)); !bytes.Equal(first, second) {
		t.Error("equal measurements give different files")
	}
}

func near(x, want float64) bool { return x > want*(1-1e-9) && x < want*(1+1e-9) }

// Each round starts with another candidate, and a quick program runs several
// times in each sample.
func TestOrder(t *testing.T) {
	clock, log := new(fakeClock), []string{}
	var candidates []Candidate
	for _, name := range []string{"a", "b", "c"} {
		candidates = append(candidates, &fake{label: Label{name, Written, 1}, clock: clock, times: microseconds(40), log: &log})
	}
	c, err := instrument(clock, Settings{Samples: 4, Warmup: 1, MinSample: 50 * time.Microsecond}).Measure(t.Context(), []*Subject{subject(t, "s")}, candidates)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(log, ""), "aabbcc"+"aaabbbccc"+"bbbcccaaa"+"cccaaabbb"+"aaabbbccc"; got != want {
		t.Errorf("runs in the order %s, want %s", got, want)
	}
	if s := c.Workloads[0].Series[1]; s.Runs != 2 || !near(s.Wall[0], 40e-6) {
		t.Errorf("%d runs per sample, %v s each", s.Runs, s.Wall[0])
	}
}

// What is wrong, fails or gives what no number is, is not timed, and says why.
func TestGate(t *testing.T) {
	clock := new(fakeClock)
	add := func(v float64) func([]*tensor.Tensor) {
		return func(out []*tensor.Tensor) { out[0].SetElem(3, out[0].Elem(3)+v) }
	}
	inf := func(out []*tensor.Tensor) { out[0].SetElem(0, math.Inf(1)) }
	make := func(name string, spoil func([]*tensor.Tensor), err error, at int) Candidate {
		return &fake{label: Label{name, Written, 1}, clock: clock, times: microseconds(10), spoil: spoil, err: err, at: at}
	}
	broken := errors.New("it broke")
	c, err := instrument(clock, Settings{Samples: 3, Warmup: 2}).Measure(t.Context(), []*Subject{subject(t, "s")}, []Candidate{
		make("right", nil, nil, 0), make("near", add(5e-5), nil, 0), make("off", add(0.01), nil, 0), make("infinite", inf, nil, 0),
		make("dead", nil, broken, 0), make("tired", nil, broken, 4),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "", "the results are off by up to 0.01", "1 elements that are infinite", "it broke", "it broke"} {
		s := c.Workloads[0].Series[i]
		if (want == "") != (s.Error == "") || !strings.Contains(s.Error, want) || (want == "") != (len(s.Wall) == 3) {
			t.Errorf("%v: error %q with %d samples, want %q", s.Label, s.Error, len(s.Wall), want)
		}
	}
	if n := len(c.Failures()); n != 4 {
		t.Errorf("%d failures", n)
	}
	back, err := Decode(encode(t, c))
	if err != nil {
		t.Fatal(err)
	}
	if order, ties := back.Workloads[0].Rank(0); fmt.Sprint(order, ties) != "[0 1] 2" {
		t.Errorf("order %v with %d ties", order, ties)
	}
}

func TestMeasureRefuses(t *testing.T) {
	clock := new(fakeClock)
	one := &fake{label: Label{"a", Written, 1}, clock: clock, times: microseconds(1)}
	good := Settings{Samples: 1, Warmup: 1}
	for _, c := range []struct {
		settings   Settings
		subjects   []*Subject
		candidates []Candidate
		want       string
	}{
		{good, nil, []Candidate{one}, "0 programs"},
		{good, []*Subject{subject(t, "s")}, nil, "0 candidates"},
		{good, []*Subject{subject(t, "s")}, []Candidate{one, one}, "two candidates are a written, 1 thread"},
		{good, []*Subject{subject(t, "s"), subject(t, "s")}, []Candidate{one}, "two programs are called s"},
		{Settings{Warmup: 1}, []*Subject{subject(t, "s")}, []Candidate{one}, "0 samples"},
		{Settings{Samples: 1}, []*Subject{subject(t, "s")}, []Candidate{one}, "0 runs of warm-up"},
	} {
		if _, err := instrument(clock, c.settings).Measure(t.Context(), c.subjects, c.candidates); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := instrument(clock, good).Measure(ctx, []*Subject{subject(t, "s")}, []Candidate{one}); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("after the end of its context: %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	c := sample(t)
	raw := encode(t, c)
	path := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	back, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encode(t, back), raw) {
		t.Error("a capture that was read is another one when written")
	}
	sum, err := Hash(back)
	if err != nil || !bytes.Contains(raw, []byte(`"sha256": "`+sum+`"`)) {
		t.Errorf("hash %s, %v", sum, err)
	}
	if _, err := Read(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if err := os.Truncate(path, MaxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "the limit for a capture") {
		t.Errorf("a large file: %v", err)
	}
}

// A file that anybody changed is refused by its hash, and one whose hash was
// made anew by what no longer follows.
func TestTampered(t *testing.T) {
	raw := string(encode(t, sample(t)))
	var e envelope
	if err := json.Unmarshal([]byte(raw), &e); err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	if err := json.Compact(&body, e.Capture); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"median_s":`, `"median_s":1`, "the samples have the minimum"},
		{`"wall_s":[`, `"wall_s":[0.5,`, "13 samples"},
		{`"wall_s":[0.0001,`, `"wall_s":[-0.0001,`, "sample 0 took"},
		{`"cpu_s":[0.0002,`, `"cpu_s":[-0.0002,`, "sample 0 took"},
		{`"samples":12`, `"samples":13`, "12 samples"},
		{`"samples":12`, `"samples":1e9`, "a number stands where a whole number belongs"},
		{`"id":"019cb`, `"id":"019cc`, "the id is of"},
		{`"id":"`, `"id":"x`, "no UUID"},
		{`"taken":"2026`, `"taken":"2027`, "the id is of"},
		{`"tree":"clean"`, `"tree":"spotless"`, "the working tree"},
		{`"flops":`, `"flops":1`, "FLOPs, not 1"},
		{`"bytes":`, `"bytes":1`, "bytes, not 1"},
		{`"written_hash":"`, `"written_hash":"0`, "no hash of a program"},
		{`"worst":`, `"worst":9`, "did not pass the gate"},
		{`"relative_tolerance":0.0001`, `"relative_tolerance":0.1`, "the tolerances are"},
		{`"runs_per_sample":1`, `"runs_per_sample":0`, "cannot have 0 runs"},
		{`"cache":"miss"`, `"cache":"warm"`, "in the state"},
		{`"threads":1`, `"threads":0`, "no candidate"},
		{`"backend":"fast","variant":"optimised","threads":2`, `"backend":"slow","variant":"written","threads":1`, "two series are of"},
		{`"planned_bytes":`, `"planned_bytes":1`, "plan"},
		{`"slots":[{"dtype":"f32","device":"cpu","bytes":`, `"slots":[{"dtype":"f32","device":"cpu","bytes":1`, "plan"},
		{`"place":"slot"`, `"place":"output"`, "plan"},
		{`"op":"softmax"`, `"op":"softmin"`, "softmin"},
		{`"sha256":"`, `"sha256":"00`, "input 0"},
		{`"name":"layer","load"`, `"name":"","load"`, "no name"},
		{`"flop_per_s":`, `"flop_per_s":-`, "the limits of a core cannot be -1e+11"},
		{`"byte_per_s":`, `"byte_per_s":1e-9,"error":"","byte_per_s":1e300,"flop_per_s":`, "the limits of a core"},
		{`"wall_s":[0.0001,`, `"wall_s":[1e-300,`, "sample 0 took"},
		{`"settings":`, `"more":1,"settings":`, "there is no field"},
	} {
		changed := strings.Replace(body.String(), c.old, c.new, 1)
		if changed == body.String() {
			t.Errorf("the capture holds no %s", c.old)
			continue
		}
		for hash, want := range map[string]string{e.SHA256: "it was changed after it was written", hash([]byte(changed)): c.want} {
			file, err := json.Marshal(envelope{format, Version, hash, json.RawMessage(changed)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Decode(file); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", c.new, err, want)
			}
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`"format": "forge.capture"`, `"format": "capture"`, `format is "capture"`},
		{`"version": 2`, `"version": 1`, "version 1"},
		{`"version": 2`, `"version": 2, "note": ""`, "there is no field"},
		{"\n}\n", "\n} {}", "something follows"},
	} {
		if _, err := Decode([]byte(strings.Replace(raw, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
}

// Whatever is decoded is verified, and survives being written and reported.
func FuzzDecode(f *testing.F) {
	raw := encode(f, sample(f))
	f.Add(raw)
	f.Add([]byte(`{"format":"forge.capture","version":2,"sha256":"","capture":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := Decode(raw)
		if err != nil {
			return
		}
		back, err := Decode(encode(t, c))
		if err != nil {
			t.Fatal(err)
		}
		if back.ID != c.ID {
			t.Errorf("id %s became %s", c.ID, back.ID)
		}
	})
}

// The same for the content alone, with a hash that fits.
func FuzzVerify(f *testing.F) {
	body, err := json.Marshal(sample(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Fuzz(func(t *testing.T, body []byte) {
		var compact bytes.Buffer
		if json.Compact(&compact, body) != nil {
			return
		}
		raw, err := json.Marshal(envelope{format, Version, hash(compact.Bytes()), compact.Bytes()})
		if err != nil {
			return
		}
		c, err := Decode(raw)
		if err != nil {
			return
		}
		r, err := NewReport(c, true)
		if err != nil {
			t.Fatalf("it was verified, but %v", err)
		}
		if f, drawn := r.Roofline(); drawn {
			if _, err := f.SVG(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
