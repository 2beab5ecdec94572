package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/uuid/v5"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/capture"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

func seeded(t testing.TB, seed uint64) *model.Model {
	t.Helper()
	m, err := model.Seeded(model.TinyDecoder(), seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

var settings = Settings{Batches: []int{1, 3}, Prompt: 20, New: 4, Prefix: 16, Repeats: 2}

// subject is a job of goroutines. What its environment says is made up.
func subject(t testing.TB, tp, pp int, reference *model.Model) Subject {
	t.Helper()
	m, layout := seeded(t, 1), shard.Layout{TP: tp, PP: pp}
	b := interp.New()
	b.Workers = 1
	l, err := engine.Local(t.Context(), m, layout, engine.LocalOptions{Backend: b, Options: engine.Options{
		BlockSize: 8, Blocks: 12, Context: 64, MaxRows: 4, MaxTokens: 32, Regions: settings.Regions(m.Config, layout),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return Subject{
		Engine: l, Name: "tiny", Model: reference, DType: tensor.F32,
		Topology: Topology{TP: tp, PP: pp, Threads: 1, Launcher: "none", Local: tp * pp, Cores: 2},
		Describe: func(context.Context) capture.Environment {
			return capture.Environment{CPU: "abacus", Commit: "c0ffee", Tree: capture.Clean}
		},
	}
}

// taken are captures of layouts, each taken once.
var taken = map[shard.Layout]*Capture{}

// take gives a capture that the test may change.
func take(t testing.TB, tp, pp int) *Capture {
	t.Helper()
	l := shard.Layout{TP: tp, PP: pp}
	if taken[l] == nil {
		c, err := Run(t.Context(), subject(t, tp, pp, seeded(t, 1)), settings)
		if err != nil {
			t.Fatal(err)
		}
		taken[l] = c
	}
	return copied(t, taken[l])
}

// A capture holds what was asked for, and its file is the capture.
func TestRun(t *testing.T) {
	for _, l := range []shard.Layout{{TP: 1, PP: 1}, {TP: 2, PP: 1}, {TP: 1, PP: 2}} {
		t.Run(l.String(), func(t *testing.T) {
			c := take(t, l.TP, l.PP)
			g := c.Gate
			if !g.Passed() || g.Prompts != 4 || g.Tokens != 4*settings.New || g.Ties != 0 || g.Prefill > 1e-5 || g.Reference != "interp" {
				t.Errorf("gate %+v", g)
			}
			for i, b := range c.Batches {
				if b.Size != settings.Batches[i] || len(b.Prefill.Samples) != 2 || len(b.Decode.Samples) != 2*3 || len(b.Serve.Samples) != 2 {
					t.Errorf("%+v", b)
				}
				blocks := int64(b.Size * 3) // 20 + 4 - 1 tokens in blocks of 8
				if want := blocks * planned(c) / 12; b.KVUsed != want {
					t.Errorf("batch of %d uses %d bytes of the cache, not %d", b.Size, b.KVUsed, want)
				}
				if p := b.Prefix; p.Unshared.Prompt != b.Size*20 || p.Shared.Prompt != 20+(b.Size-1)*4 || p.Unshared.KV != b.KVUsed || p.Shared.KV != planned(c)/12*int64(2+b.Size) {
					t.Errorf("batch of %d: %+v", b.Size, *p)
				}
				if (b.Overhead == nil) != (l.PP > 1) || len(b.Bubbles) != map[bool]int{true: l.Ranks()}[l.PP > 1] {
					t.Errorf("overhead %v, bubbles %v", b.Overhead, b.Bubbles)
				}
			}
			var whole int64
			for _, r := range c.Ranks {
				whole += r.Read
				if r.KVHeld != r.KVPlanned || r.Weights < r.Read {
					t.Errorf("%+v", r)
				}
			}
			if one := readBytes(model.TinyDecoder(), shard.Single(), tensor.F32); whole < one {
				t.Errorf("the ranks read %d bytes of weights together, one rank %d", whole, one)
			}
			raw, err := Encode(c)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if second, err := Encode(again); err != nil || !bytes.Equal(raw, second) {
				t.Errorf("a capture that was read is written otherwise: %v", err)
			}
			for _, want := range []string{"tiny, f32", l.String(), "beyond program", "cache planned"} {
				if !strings.Contains(c.Text(), want) {
					t.Errorf("%q is not in\n%s", want, c.Text())
				}
			}
		})
	}
}

func planned(c *Capture) (n int64) {
	for _, r := range c.Ranks {
		n += r.KVPlanned
	}
	return n
}

// wrong is an engine that gives one logit in a step wrong.
type wrong struct {
	*engine.Leader
	at    uint64 // step
	steps uint64
}

func (w *wrong) Wait(ctx context.Context, t engine.Ticket) (engine.Result, error) {
	r, err := w.Leader.Wait(ctx, t)
	if w.steps++; w.steps == w.at {
		for _, row := range r.Logits {
			if row != nil {
				row[7] += 1
			}
		}
	}
	return r, err
}

// What is wrong is not timed.
func TestGateRefuses(t *testing.T) {
	other := subject(t, 2, 1, seeded(t, 2)) // has other weights than the reference
	decode := subject(t, 1, 1, seeded(t, 1))
	decode.Engine = &wrong{Leader: decode.Engine.(*engine.Leader), at: 6}
	for what, s := range map[string]Subject{"other weights": other, "a wrong decode": decode} {
		c, err := Run(t.Context(), s, settings)
		if !errors.Is(err, ErrGate) || c == nil || c.Gate.Passed() || len(c.Batches) != 0 || len(c.Stream) != 0 {
			t.Fatalf("%s: %+v, %v", what, c, err)
		}
		if !strings.Contains(c.Gate.Error, "logits differ") || !strings.Contains(c.Text(), "not passed") {
			t.Errorf("%s: %q", what, c.Gate.Error)
		}
		raw, err := Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(raw); err != nil {
			t.Error(err)
		}
	}
}

// What cannot be measured is refused before anything runs.
func TestSettings(t *testing.T) {
	for _, s := range []Settings{
		{}, {Batches: []int{1}, Prompt: 1, New: 1, Repeats: 1}, {Batches: []int{0}, Prompt: 1, New: 2, Repeats: 1}, {Batches: []int{1, 1}, Prompt: 1, New: 2, Repeats: 1},
		{Batches: []int{1}, Prompt: 300, New: 2, Repeats: 1}, {Batches: []int{1}, Prompt: 2, New: 2, Prefix: 3, Repeats: 1}, {Batches: []int{1}, Prompt: 2, New: 2},
		{Batches: []int{1}, Prompt: 2, New: 2, Repeats: math.MaxInt}, {Batches: []int{1 << 20}, Prompt: 2, New: 2, Repeats: 1},
	} {
		if err := s.Check(model.TinyDecoder()); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	for _, s := range []Settings{
		{Batches: []int{5}, Prompt: 2, New: 2, Repeats: 1}, {Batches: []int{4}, Prompt: 30, New: 2, Repeats: 1}, {Batches: []int{1}, Prompt: 63, New: 2, Repeats: 1},
	} {
		if _, err := Run(t.Context(), subject(t, 1, 1, seeded(t, 1)), s); err == nil || strings.Contains(err.Error(), "refused") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// copied is a capture that a test may change.
func copied(t testing.TB, c *Capture) *Capture {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	d := new(Capture)
	if err := json.Unmarshal(raw, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// A capture whose parts contradict one another is refused.
func TestVerify(t *testing.T) {
	whole := take(t, 1, 1)
	for what, change := range map[string]func(*Capture){
		"the id":                func(c *Capture) { c.ID = "x" },
		"the time":              func(c *Capture) { c.Taken = c.Taken.Add(time.Second) },
		"a median":              func(c *Capture) { c.Batches[0].Decode.Summary.Median /= 2 },
		"an interval":           func(c *Capture) { c.Batches[0].Decode.Median.Low /= 2 },
		"a sample":              func(c *Capture) { c.Batches[1].Prefill.Samples[0] *= 2 },
		"a sample that is none": func(c *Capture) { c.Batches[1].Serve = newSeries([]float64{-1, 1}) },
		"too few samples":       func(c *Capture) { c.Batches[1].Serve = newSeries([]float64{1}) },
		"a figure":              func(c *Capture) { c.Batches[0].Figures.Throughput *= 2 },
		"a batch too few":       func(c *Capture) { c.Batches = c.Batches[:1] },
		"another batch":         func(c *Capture) { c.Batches[0].Size = 2 },
		"a failed gate":         func(c *Capture) { c.Gate.Prefill = 1 },
		"a gate without reason": func(c *Capture) { c.Gate.Tokens, c.Batches = 0, nil },
		"a rank too few":        func(c *Capture) { c.Ranks = nil },
		"another rank":          func(c *Capture) { c.Ranks[0].Rank = 1 },
		"a bandwidth":           func(c *Capture) { c.Stream = append(c.Stream, 1e9) },
		"no bandwidth":          func(c *Capture) { c.Stream, c.NoStream = nil, "" },
		"no overhead":           func(c *Capture) { c.Batches[0].Overhead = nil },
		"no prefix":             func(c *Capture) { c.Batches[0].Prefix = nil },
		"bubbles":               func(c *Capture) { c.Batches[0].Bubbles = [][]float64{{0, 0}} },
		"a topology":            func(c *Capture) { c.Topology.TP = 0 },
		"a prompt":              func(c *Capture) { c.Signature.Prompt = 1 << 40 },
		"a prefix":              func(c *Capture) { c.Signature.Prefix = 21 },
		"one new token":         func(c *Capture) { c.Signature.New = 1 },
	} {
		c := copied(t, whole)
		change(c)
		if err := Verify(c); err == nil {
			t.Errorf("%s was changed, and nothing said", what)
		}
		if _, err := Encode(c); err == nil {
			t.Errorf("%s was changed, and written", what)
		}
	}
	raw, err := Encode(whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(bytes.Replace(raw, []byte(`"name"`), []byte(`"nome"`), 1)); err == nil {
		if _, err := Decode(bytes.Replace(raw, []byte("abacus"), []byte("sand"), 1)); err == nil {
			t.Error("a file that was changed is read")
		}
	}
}

// Captures that say nothing about one another are refused, each with its reason.
func TestCompareRefuses(t *testing.T) {
	one, two := take(t, 1, 1), take(t, 2, 1)
	failed := copied(t, two)
	failed.Gate.Error, failed.Batches = "it is wrong", nil
	for _, tt := range []struct {
		want   string
		base   *Capture
		others []*Capture
	}{
		{"baseline", two, []*Capture{one}},
		{"nothing to compare", one, nil},
		{"did not pass its gate: it is wrong", one, []*Capture{failed}},
		{"topology of base", one, []*Capture{copied(t, one)}},
		{"topology of other 0", one, []*Capture{two, copied(t, two)}},
		{"working tree is dirty", one, []*Capture{changed(t, two, func(c *Capture) { c.Environment.Tree = capture.Dirty })}},
		{"working tree is unknown", changed(t, one, func(c *Capture) { c.Environment.Tree = capture.UnknownTree }), []*Capture{two}},
		{"sha256 ", one, []*Capture{changed(t, two, func(c *Capture) { c.Signature.SHA256 = "0" })}},
		{"dtype f32 and bf16", one, []*Capture{changed(t, two, func(c *Capture) { c.Signature.DType = "bf16" })}},
		{"batches [1 3] and [1]", one, []*Capture{changed(t, two, func(c *Capture) { c.Signature.Batches = []int{1} })}},
		{"new tokens 4 and 5", one, []*Capture{changed(t, two, func(c *Capture) { c.Signature.New = 5 })}},
		{"processor abacus and sand", one, []*Capture{changed(t, two, func(c *Capture) { c.Environment.CPU = "sand" })}},
		{"commit c0ffee and decaf", one, []*Capture{changed(t, two, func(c *Capture) { c.Environment.Commit = "decaf" })}},
	} {
		_, err := Compare(Named{"base", tt.base}, named(tt.others), false)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want one line with %q", err, tt.want)
		}
	}
	dirty := changed(t, two, func(c *Capture) { c.Environment.Tree = capture.Dirty })
	if _, err := Compare(Named{"base", one}, named([]*Capture{dirty}), true); err != nil {
		t.Errorf("a dirty capture that is allowed: %v", err)
	}
}

func changed(t *testing.T, c *Capture, change func(*Capture)) *Capture {
	c = copied(t, c)
	change(c)
	return c
}

func named(list []*Capture) (out []Named) {
	for i, c := range list {
		out = append(out, Named{"other " + string(rune('0'+i)), c})
	}
	return out
}

// Speed-ups follow from medians.
func TestCompare(t *testing.T) {
	one, two := take(t, 1, 1), take(t, 2, 1)
	set := func(c *Capture, decode, prefill, serve float64) {
		for i := range c.Batches {
			b := &c.Batches[i]
			b.Decode, b.Prefill, b.Serve = newSeries(slices.Repeat([]float64{decode}, 6)), newSeries([]float64{prefill, prefill}), newSeries([]float64{serve, serve})
			b.Figures = c.figures(*b)
		}
	}
	set(one, 1, 8, 16)
	set(two, 0.625, 5, 10)
	c, err := Compare(Named{"one", one}, []Named{{"two", two}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Rows) != 4 || c.Rows[0].DecodeSpeedUp != 1 || c.Rows[0].DecodeEfficiency != 1 {
		t.Errorf("%+v", c.Rows)
	}
	r := c.Rows[1]
	if r.Name != "two" || r.Batch != 1 || r.DecodeSpeedUp != 1.6 || r.DecodeEfficiency != 0.8 || r.PrefillSpeedUp != 1.6 || math.Abs(r.ThroughputSpeedUp-1.6) > 1e-12 || r.Throughput != 0.4 || r.Oversubscribed {
		t.Errorf("%+v", r)
	}
	if row := "| 1 | TP 2, PP 1, 1 thread each | 5000 | 1.60 | 625 | 1.60 | 80 % | 0.4 | 1.60 | 80 % |"; !strings.Contains(c.Markdown(), row) {
		t.Errorf("%q is not in\n%s", row, c.Markdown())
	}
}

// made is a capture that nobody took.
func made(t testing.TB, tp, pp int) *Capture {
	t.Helper()
	id, err := uuid.NewGen().NewV7AtTime(time.UnixMilli(1e12))
	if err != nil {
		t.Fatal(err)
	}
	c := &Capture{
		ID: id.String(), Taken: time.UnixMilli(1e12).UTC(), Repeats: 1, NoStream: "nobody asked",
		Signature: Signature{Model: "made", DType: "f32", Batches: []int{2}, Prompt: 3, New: 3, Block: 4, Context: 8},
		Topology:  Topology{TP: tp, PP: pp, Threads: 1, Local: tp * pp, Cores: 2},
		Gate:      Gate{Tolerance: 1, Prompts: 1, Tokens: 1},
		Batches:   []Batch{{Size: 2, Prefill: newSeries([]float64{1}), Decode: newSeries([]float64{1, 2}), Serve: newSeries([]float64{3})}},
	}
	b := &c.Batches[0]
	for rank := range tp * pp {
		c.Ranks = append(c.Ranks, Rank{Rank: rank, Stage: rank / tp})
		b.Bubbles = append(b.Bubbles, []float64{0.5})
	}
	if pp == 1 {
		over := newSeries([]float64{0.1, 0.2})
		b.Overhead, b.Bubbles = &over, nil
	}
	b.Figures = c.figures(*b)
	return c
}

func FuzzDecode(f *testing.F) {
	for _, l := range []shard.Layout{{TP: 1, PP: 1}, {TP: 1, PP: 2}} {
		c := made(f, l.TP, l.PP)
		raw, err := Encode(c)
		if err != nil {
			f.Fatal(err)
		}
		body, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		Decode(raw)
		c := new(Capture) // past the hash, which fuzzing does not find
		if json.Unmarshal(raw, c) != nil || Verify(c) != nil {
			return
		}
		sealed, err := Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(sealed); err != nil {
			t.Fatal(err)
		}
		_ = c.Text()
		_, _ = Compare(Named{"a", c}, []Named{{"b", c}}, true)
	})
}
