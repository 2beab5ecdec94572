package bench

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/capture"
)

// Named is a capture and what to call it: its file.
type Named struct {
	Name string
	*Capture
}

// Comparison is how layouts compare with one rank.
type Comparison struct {
	Baseline  string     `json:"baseline"`
	Signature Signature  `json:"signature"`
	Rows      []Compared `json:"rows"`
}

// Compared is one batch of one capture. A speed-up is the baseline's median time over
// this one's, an efficiency the speed-up over the number of ranks.
type Compared struct {
	Name     string   `json:"name"`
	Topology Topology `json:"topology"`
	Ranks    int      `json:"ranks"`
	Batch    int      `json:"batch"`

	Prefill        float64 `json:"prefill_s"`
	PrefillSpeedUp float64 `json:"prefill_speed_up"`

	Decode           float64 `json:"decode_step_s"`
	DecodeSpeedUp    float64 `json:"decode_speed_up"`
	DecodeEfficiency float64 `json:"decode_efficiency"`

	Throughput           float64 `json:"token_per_s"` // of the service
	ThroughputSpeedUp    float64 `json:"throughput_speed_up"`
	ThroughputEfficiency float64 `json:"throughput_efficiency"`

	Oversubscribed bool `json:"oversubscribed"`
}

// Compare compares captures with that of one rank. Those that say nothing about one
// another are refused: the error has a sentence for each reason.
func Compare(base Named, others []Named, allowDirty bool) (*Comparison, error) {
	var reasons []error
	refuse := func(format string, args ...any) { reasons = append(reasons, fmt.Errorf(format, args...)) }
	if n := base.Topology.Ranks(); n != 1 {
		refuse("%s has %d ranks and is not a baseline: efficiency is about the speed of one", base.Name, n)
	}
	if len(others) == 0 {
		refuse("there is nothing to compare %s with", base.Name)
	}
	seen := make(map[string]string)
	for _, c := range append([]Named{base}, others...) {
		if !c.Gate.Passed() {
			refuse("%s did not pass its gate: %s", c.Name, c.Gate.Error)
		}
		if tree := c.Environment.Tree; tree != capture.Clean && !allowDirty {
			refuse("%s was taken by a program whose working tree is %s, which no commit can reproduce", c.Name, tree)
		}
		if what := unmatched(base.Capture, c.Capture); what != "" {
			refuse("%s was not measured as %s: %s", c.Name, base.Name, what)
		}
		if other, ok := seen[c.Topology.String()]; ok {
			refuse("%s has the topology of %s: %v", c.Name, other, c.Topology)
		}
		seen[c.Topology.String()] = c.Name
	}
	if len(reasons) > 0 {
		return nil, errors.Join(reasons...)
	}
	list := &Comparison{Baseline: base.Name, Signature: base.Signature}
	for i := range base.Batches {
		for _, c := range append([]Named{base}, others...) {
			list.Rows = append(list.Rows, compared(base.Batches[i], c, i))
		}
	}
	return list, nil
}

// unmatched is what differs in what was measured, and where; empty when nothing does.
func unmatched(a, b *Capture) string {
	var list []string
	note := func(what string, x, y any) {
		if !reflect.DeepEqual(x, y) {
			list = append(list, fmt.Sprintf("%s %v and %v", what, x, y))
		}
	}
	s, t := reflect.ValueOf(a.Signature), reflect.ValueOf(b.Signature)
	for i := range s.NumField() {
		name, _, _ := strings.Cut(s.Type().Field(i).Tag.Get("json"), ",")
		note(strings.ReplaceAll(name, "_", " "), s.Field(i).Interface(), t.Field(i).Interface())
	}
	note("processor", a.Environment.CPU, b.Environment.CPU)
	note("cores", a.Topology.Cores, b.Topology.Cores)
	note("commit", a.Environment.Commit, b.Environment.Commit)
	return strings.Join(list, ", ")
}

// compared is batch i of a capture.
func compared(base Batch, c Named, i int) Compared {
	b, n := c.Batches[i], c.Topology.Ranks()
	r := Compared{
		Name: c.Name, Topology: c.Topology, Ranks: n, Batch: b.Size, Oversubscribed: c.Topology.Oversubscribed(),
		Prefill: b.Prefill.Summary.Median, PrefillSpeedUp: base.Prefill.Summary.Median / b.Prefill.Summary.Median,
		Decode: b.Decode.Summary.Median, DecodeSpeedUp: base.Decode.Summary.Median / b.Decode.Summary.Median,
		Throughput: b.Figures.Throughput, ThroughputSpeedUp: b.Figures.Throughput / base.Figures.Throughput,
	}
	r.DecodeEfficiency, r.ThroughputEfficiency = r.DecodeSpeedUp/float64(n), r.ThroughputSpeedUp/float64(n)
	return r
}

// Table lists all batches of all captures.
func (c *Comparison) Table() display.Table {
	s := c.Signature
	t := display.Table{
		Title: fmt.Sprintf("%s, %s, prompts of %d tokens, %d new ones", s.Model, s.DType, s.Prompt, s.New),
		Columns: []display.Column{
			{Name: "batch"}, {Name: "ranks"}, {Name: "prefill", Unit: "ms"}, {Name: "speed-up"}, {Name: "decode step", Unit: "ms"}, {Name: "speed-up"}, {Name: "efficiency", Unit: "%"},
			{Name: "generated", Unit: "tokens/s"}, {Name: "speed-up"}, {Name: "efficiency", Unit: "%"},
		},
	}
	for _, r := range c.Rows {
		ranks := r.Topology.String()
		if r.Oversubscribed {
			ranks += ", oversubscribed"
		}
		t.Rows = append(t.Rows, []any{
			r.Batch, ranks, r.Prefill * 1e3, r.PrefillSpeedUp, r.Decode * 1e3, r.DecodeSpeedUp, r.DecodeEfficiency * 100,
			r.Throughput, r.ThroughputSpeedUp, r.ThroughputEfficiency * 100,
		})
	}
	return t
}

// Display shows the table.
func (c *Comparison) Display() display.Bundle { return c.Table().Display() }

// Markdown is the table for a page.
func (c *Comparison) Markdown() string {
	var b strings.Builder
	b.WriteString("| batch | ranks | prefill, ms | speed-up | decode step, ms | speed-up | efficiency | tokens/s | speed-up | efficiency |\n")
	b.WriteString("|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range c.Rows {
		ranks := r.Topology.String()
		if r.Oversubscribed {
			ranks += ", oversubscribed"
		}
		fmt.Fprintf(&b, "| %d | %s | %.4g | %.2f | %.4g | %.2f | %.0f %% | %.4g | %.2f | %.0f %% |\n", r.Batch, ranks,
			r.Prefill*1e3, r.PrefillSpeedUp, r.Decode*1e3, r.DecodeSpeedUp, r.DecodeEfficiency*100, r.Throughput, r.ThroughputSpeedUp, r.ThroughputEfficiency*100)
	}
	return b.String()
}
