package plan

import (
	"encoding/json"
	"strings"
	"testing"
)

// A plan that was read back is the plan that was written, and proves itself.
func TestParse(t *testing.T) {
	p := samplePlan(t)
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(p.Graph, raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(back); err != nil {
		t.Error(err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(raw) {
		t.Errorf("%v, a plan that was read back is\n%s\nnot\n%s", err, again, raw)
	}
}

func TestParseRefuses(t *testing.T) {
	p := samplePlan(t)
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"format":"forge.plan"`, `"format":"plan"`, `format "plan"`},
		{`"version":1`, `"version":2`, "version 2"},
		{`"version":1`, `"version":1,"more":1`, "unknown field"},
		{`"ratio":`, `"ratio":7`, "the ratio of"},
		{`"program":"`, `"program":"x`, "it is of"},
		{`"dtype":"f32"`, `"dtype":"f3"`, "f3"},
		{`"device":"cpu"`, `"device":"CPU"`, "not the name of a device"},
		{`"steps":[{"op":"`, `"steps":[{"op":"x`, "step 0"},
	} {
		bad := strings.Replace(string(raw), c.old, c.new, 1)
		if bad == string(raw) {
			t.Fatalf("the plan holds no %s", c.old)
		}
		if _, err := Parse(p.Graph, []byte(bad)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
	if _, err := Parse(p.Graph, append(raw, '1')); err == nil || !strings.Contains(err.Error(), "something follows") {
		t.Errorf("a plan with something behind it: %v", err)
	}
}

// Whatever is read, proving it neither panics nor accepts another plan's totals.
func FuzzParse(f *testing.F) {
	p, err := New(randomGraph(3, 12), Options{})
	if err != nil {
		f.Fatal(err)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		back, err := Parse(p.Graph, raw)
		if err != nil {
			return
		}
		if err := Verify(back); err == nil && back.Naive < back.Lower {
			t.Errorf("%d bytes are live of %d", back.Lower, back.Naive)
		}
	})
}
