package tuning

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/capture"
	"forgekernel/forge/sealed"
)

var passed = &capture.Gate{Relative: 1e-4, Absolute: 1e-4, Worst: 0.01}

// node has candidates with these medians in microseconds; 0 is one that was rejected.
func node(shape string, micros ...float64) Node {
	n := Node{Shape: shape, Values: []string{"%y"}, FLOPs: 100, Bytes: 10}
	for i, t := range micros {
		c := Candidate{Name: string(rune('a' + i)), Gate: passed, Runs: 7, Samples: []float64{t * 1.1e-6, t * 1e-6, t * 0.9e-6}}
		if t == 0 {
			c = Candidate{Name: c.Name, Gate: &capture.Gate{Worst: 3}, Error: "an error of 3 times the bound"}
		}
		n.Candidates = append(n.Candidates, c)
	}
	n.Settle()
	return n
}

func sample() *Record {
	m := Machine{Device: "GPU", Arch: "sm_90", Driver: "13.0", Compiler: "13.0"}
	idle := node("k", 0)
	idle.Note = "not measured: no candidate passed"
	idle.Settle()
	return &Record{
		Key: m.Key([]string{"j", "k"}), Program: "p", Taken: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Machine: m, Settings: DefaultSettings(),
		Nodes: []Node{node("j", 10, 8, 0, 8.1), idle},
	}
}

func TestSettle(t *testing.T) {
	for _, c := range []struct {
		micros []float64
		want   []Verdict
	}{
		{[]float64{10, 8, 12}, []Verdict{Slower, Chosen, Slower}},
		{[]float64{10, 9.9, 0}, []Verdict{Chosen, Tie, Rejected}},
		{[]float64{0, 5, 4.9}, []Verdict{Rejected, Chosen, Tie}},
		{[]float64{7}, []Verdict{Chosen}},
		{[]float64{10.4, 10.2, 10}, []Verdict{Slower, Chosen, Tie}},
	} {
		n := node("j", c.micros...)
		for i, want := range c.want {
			if got := n.Candidates[i].Verdict; got != want {
				t.Errorf("%v: candidate %d is %s, want %s", c.micros, i, got, want)
			}
		}
	}
}

func TestReason(t *testing.T) {
	r := sample()
	r.Nodes[0].Absent = []string{"there is no Triton"}
	for i, want := range []string{
		"tuned: 8 µs of 4 candidates; the next takes +1.2 %; a takes +25.0 %; 1 rejected; there is no Triton",
		"untuned: not measured: no candidate passed",
	} {
		if got := r.Nodes[i].Reason(); got != want {
			t.Errorf("the reason is %q, want %q", got, want)
		}
	}
	for _, want := range []string{"j, for %y", "rejected: an error of 3 times the bound", "there is no Triton", "+25.0 %"} {
		if !strings.Contains(r.Text(), want) {
			t.Errorf("the text lacks %q:\n%s", want, r.Text())
		}
	}
}

func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*Record){
		"samples that are no times":                   func(r *Record) { r.Nodes[0].Candidates[0].Samples[1] = 0 },
		"did not pass the gate":                       func(r *Record) { r.Nodes[0].Candidates[1].Gate = nil },
		"nothing was measured, and it does not say":   func(r *Record) { r.Nodes[1].Note = "" },
		`b is "chosen" by its samples, not "slower"`:  func(r *Record) { r.Nodes[0].Candidates[1].Verdict = Slower },
		"0 candidates; there are 1 to 256":            func(r *Record) { r.Nodes[1].Candidates = nil },
		"it has 5000 nodes; there are at most 4096":   func(r *Record) { r.Nodes = make([]Node, 5000) },
		`a is "slower" by its samples, not "chosen"`:  func(r *Record) { r.Nodes[0].Candidates[0].Verdict = Chosen },
		"c was timed and did not pass the gate":       func(r *Record) { r.Nodes[0].Candidates[2].Samples = []float64{1} },
		"at most 16777216":                            func(r *Record) { r.Program = strings.Repeat("p", 17<<20) },
		`c is "rejected" by its samples, not "slower`: func(r *Record) { r.Nodes[0].Candidates[2].Verdict = Slower },
	} {
		r := sample()
		change(r)
		if _, err := Encode(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

func TestLookup(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	r := sample()
	shapes := []string{"j", "k"}
	if found, err := Lookup(r.Machine, shapes); found != nil || err != nil {
		t.Fatalf("found %v, %v where there is nothing", found, err)
	}
	path, err := Save(r)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := Lookup(r.Machine, shapes); err != nil || !reflect.DeepEqual(found, r) {
		t.Errorf("found %+v, %v", found, err)
	}
	other := r.Machine
	other.Driver = "13.1"
	if found, err := Lookup(other, shapes); found != nil || err != nil {
		t.Errorf("found %v, %v for another machine", found, err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(raw, []byte(`"flops": 100`), []byte(`"flops": 101`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Lookup(r.Machine, shapes); err == nil || !strings.Contains(err.Error(), "is ignored: its content does not have the SHA-256") {
		t.Errorf("a damaged record: %v", err)
	}
}

// TestKnown joins records: of a shape that two have measured the later counts.
func TestKnown(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	old, later, foreign := sample(), sample(), sample()
	if known, errs := Known(old.Machine); known != nil || len(errs) != 0 {
		t.Fatalf("known %v, %v where there is nothing", known, errs)
	}
	later.Key, later.Taken = old.Machine.Key([]string{"j"}), old.Taken.Add(time.Hour)
	c := &later.Nodes[0].Candidates
	(*c)[0], (*c)[1] = (*c)[1], (*c)[0]
	later.Nodes[0].Settle()
	later.Nodes = later.Nodes[:1]
	foreign.Machine.Driver = "13.1"
	foreign.Key = foreign.Machine.Key([]string{"j", "k"})
	for _, r := range []*Record{old, later, foreign} {
		if _, err := Save(r); err != nil {
			t.Fatal(err)
		}
	}
	known, errs := Known(old.Machine)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	measured := 0
	for i := range old.Nodes {
		measured += min(1, int(1e12*old.Nodes[i].best()))
	}
	if len(known.Nodes) != measured || !reflect.DeepEqual(known.Nodes[0], later.Nodes[0]) || known.Machine != old.Machine {
		t.Errorf("known %+v, want %d nodes and %+v first", known, measured, later.Nodes[0])
	}
	path, err := Save(later)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if known, errs = Known(old.Machine); len(errs) != 1 || !reflect.DeepEqual(known.Nodes[0], old.Nodes[0]) {
		t.Errorf("beside a damaged one %+v, %v", known, errs)
	}
}

func FuzzDecode(f *testing.F) {
	raw, err := Encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := Decode(sealed.Reseal(raw))
		if err != nil {
			return
		}
		for i := range r.Nodes {
			_ = r.Nodes[i].Reason()
		}
		_ = r.Text()
		if again, err := Encode(r); err != nil {
			t.Errorf("a record that was read is refused: %v", err)
		} else if s, err := Decode(again); err != nil || !reflect.DeepEqual(r, s) {
			t.Errorf("read\n%+v\nand then\n%+v, %v", r, s, err)
		}
	})
}
