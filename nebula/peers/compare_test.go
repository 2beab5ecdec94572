package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParting(t *testing.T) {
	a := continuation{[]int32{1, 2, 3}, []float64{.5, .25, .125}}
	for _, c := range []struct {
		name string
		b    continuation
		want string
	}{
		{"equal", continuation{[]int32{1, 2, 3}, []float64{9, 9, 9}}, "equal"},
		{"other token", continuation{[]int32{1, 4, 3}, []float64{9, 8, 7}}, "token 2 differs, where the likeliest two were 0.250 and 8.000 apart"},
		{"shorter", continuation{[]int32{1, 2}, []float64{9, 9}}, "token 3 differs, where the likeliest two were +Inf and +Inf apart"},
		{"none", continuation{}, "token 1 differs, where the likeliest two were +Inf and +Inf apart"},
	} {
		if got := parting(a, c.b).String(); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

func TestLoss(t *testing.T) {
	logits := []float32{1000, 1000, -1000}
	if got := loss(logits, 1); math.Abs(got-math.Ln2) > 1e-12 {
		t.Errorf("the loss of one of two equals is %v; want ln 2", got)
	}
	if got := loss(logits, 2); math.Abs(got-2000-math.Ln2) > 1e-9 {
		t.Errorf("the loss of the least likely is %v; want 2000 + ln 2", got)
	}
	if got := perplexityOf([]float64{math.Log(2), math.Log(8)}); math.Abs(got-4) > 1e-12 {
		t.Errorf("the perplexity of 1/2 and 1/8 is %v; want 4", got)
	}
}

func TestWrapped(t *testing.T) {
	text := strings.Repeat("four ", 30) + "\n" + strings.Repeat("x", 2*column+1)
	lines := wrapped(text)
	for _, l := range lines {
		if len(l) > column {
			t.Errorf("a line has %d characters; a column %d", len(l), column)
		}
	}
	if got := strings.Join(lines, ""); got != strings.ReplaceAll(text, "\n", "") {
		t.Errorf("the lines are %q", got)
	}
}

func TestPrompts(t *testing.T) {
	var list []prompt
	if err := json.Unmarshal(promptsJSON, &list); err != nil {
		t.Fatal(err)
	}
	steady, kinds := 0, map[string]bool{}
	for _, p := range list {
		if !p.Close {
			steady++
		}
		if p.Text == "" || kinds[p.Kind] {
			t.Errorf("prompt %q has no text, or its name twice", p.Kind)
		}
		kinds[p.Kind] = true
	}
	if steady != 10 {
		t.Errorf("there are %d prompts for the file as it is; want 10", steady)
	}
	if n := len(alice); n < 2000 || n > 4000 {
		t.Errorf("the text has %d bytes", n)
	}
}

// measured is a capture of two rounds in which Nebula takes half of the time and half
// of the bandwidth.
func measured() *speeds {
	return &speeds{
		Model: "m.gguf", Threads: 1, Prompt: 4, Stream: [][2]float64{{100, 80}, {50, 40}},
		Series: []series{
			{Name: nebula, DType: "f32", Weights: 50, Seconds: [][]float64{{1, 2}, {3, 2}}},
			{Name: "other", Version: "1", DType: "f32", Weights: 50, Seconds: [][]float64{{2, 4}, {4, 6}}},
		},
	}
}

func TestCapture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "speed.json")
	if err := measured().save(path); err != nil {
		t.Fatal(err)
	}
	c, err := readSpeeds(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	c.write(&b)
	for _, want := range []string{
		"2 rounds in turn; memory reads 0.0 GB/s",
		"| f32 | Nebula  | 1000.0 ms | 2000.0 ms | 0.5 | 50 % |  |",
		"| f32 | other 1 | 2000.0 ms | 4000.0 ms | 0.2 | 25 % | 2.00x |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, b.String())
		}
	}
}

func TestCaptureRefused(t *testing.T) {
	for name, spoil := range map[string]func(*speeds){
		"no series":        func(c *speeds) { c.Series = nil },
		"no rounds":        func(c *speeds) { c.Stream = nil },
		"no bandwidth":     func(c *speeds) { c.Stream[1][1] = 0 },
		"a round missing":  func(c *speeds) { c.Series[1].Seconds = c.Series[1].Seconds[:1] },
		"no samples":       func(c *speeds) { c.Series[1].Seconds[0] = nil },
		"a negative time":  func(c *speeds) { c.Series[0].Seconds[0][0] = -1 },
		"nothing of ours":  func(c *speeds) { c.Series = c.Series[1:] },
		"no weights":       func(c *speeds) { c.Series[1].Weights = 0 },
		"ours of one type": func(c *speeds) { c.Series[1].DType = "bf16" },
	} {
		c := measured()
		spoil(c)
		path := filepath.Join(t.TempDir(), "speed.json")
		if err := c.save(path); err == nil {
			t.Errorf("%s: saved", name)
		}
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readSpeeds(path); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}
