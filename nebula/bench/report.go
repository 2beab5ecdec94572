package bench

import (
	"fmt"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/capture"
)

// Text is what was measured, for a terminal.
func (c *Capture) Text() string {
	var b strings.Builder
	s, t := c.Signature, c.Topology
	fmt.Fprintf(&b, "%s, %s, backend %s: %v, started by %s\n", s.Model, s.DType, s.Backend, t, starter(t))
	fmt.Fprintf(&b, "prompts of %s, %d new ones, context %d, blocks of %d, %s\n", display.Count(s.Prompt, "token"), s.New, s.Context, s.Block, display.Count(c.Repeats, "repetition"))
	b.WriteString(c.Gate.text())
	if !c.Gate.Passed() {
		return b.String()
	}
	if len(c.Stream) > 0 {
		m := capture.Summarise(c.Stream)
		fmt.Fprintf(&b, "memory: %.2f GB/s median on %d of %s\n", m.Median/1e9, min(t.Local*t.Threads, t.Cores), display.Count(t.Cores, "core"))
	} else {
		fmt.Fprintf(&b, "memory: bandwidth not measured: %s\n", c.NoStream)
	}
	if t.Oversubscribed() {
		fmt.Fprintf(&b, "oversubscribed: %s of %s share %s, so that ranks wait for cores\n", display.Count(t.Local, "rank"), display.Count(t.Threads, "thread"), display.Count(t.Cores, "core"))
	}
	b.WriteString("\n" + c.engineTable().Text() + "\n" + c.serviceTable().Text() + "\n" + c.rankTable().Text())
	return b.String()
}

func starter(t Topology) string {
	if t.Launcher == "none" {
		return "this process"
	}
	return t.Launcher
}

func (g Gate) text() string {
	if !g.Passed() {
		return "gate: not passed: " + g.Error + "\n"
	}
	return fmt.Sprintf("gate: %s of %s as the single process has them (%s); logits differ by %.2g after prompts and %.2g after decodes, of %.2g; %d near ties\n",
		display.Count(g.Tokens, "token"), display.Count(g.Prompts, "prompt"), g.Reference, g.Prefill, g.Decode, g.Tolerance, g.Ties)
}

// orNone is a cell that is empty where a number says nothing.
func orNone(x float64, given bool) any {
	if !given {
		return nil
	}
	return x
}

// engineTable is what the engine alone takes.
func (c *Capture) engineTable() display.Table {
	t := display.Table{Title: "Engine", Columns: []display.Column{
		{Name: "batch"}, {Name: "prefill", Unit: "ms"}, {Name: "prefill", Unit: "tokens/s"},
		{Name: "decode step", Unit: "ms"}, {Name: "quickest", Unit: "ms"}, {Name: "95 %", Unit: "ms"}, {Name: "decode", Unit: "tokens/s"},
		{Name: "beyond program", Unit: "us"}, {Name: "of bandwidth", Unit: "%"}, {Name: "at best", Unit: "%"}, {Name: "bubble", Unit: "%"},
	}}
	for _, b := range c.Batches {
		f, over := b.Figures, 0.0
		if b.Overhead != nil {
			over = b.Overhead.Summary.Median * 1e6
		}
		t.Rows = append(t.Rows, []any{
			b.Size, b.Prefill.Summary.Median * 1e3, f.PrefillRate, b.Decode.Summary.Median * 1e3, b.Decode.Summary.Min * 1e3, b.Decode.Summary.P95 * 1e3, f.DecodeRate,
			orNone(over, b.Overhead != nil), orNone(f.Share*100, len(c.Stream) > 0), orNone(f.Best*100, len(c.Stream) > 0), orNone(f.Bubble*100, b.Bubbles != nil),
		})
	}
	return t
}

// serviceTable is what users of the job see.
func (c *Capture) serviceTable() display.Table {
	t := display.Table{Title: "Service", Columns: []display.Column{
		{Name: "batch"}, {Name: "whole batch", Unit: "ms"}, {Name: "generated", Unit: "tokens/s"}, {Name: "cache in use", Align: display.AlignRight},
	}}
	if c.Signature.Prefix > 0 {
		t.Columns = append(t.Columns, display.Column{Name: "unshared", Unit: "ms"}, display.Column{Name: "prompt tokens computed"}, display.Column{Name: "unshared"},
			display.Column{Name: "cache", Align: display.AlignRight}, display.Column{Name: "unshared", Align: display.AlignRight})
	}
	for _, b := range c.Batches {
		row := []any{b.Size, b.Serve.Summary.Median * 1e3, b.Figures.Throughput, display.FormatBytes(b.KVUsed)}
		if p := b.Prefix; p != nil {
			row = append(row, p.Serve.Summary.Median*1e3, p.Shared.Prompt, p.Unshared.Prompt, display.FormatBytes(p.Shared.KV), display.FormatBytes(p.Unshared.KV))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// rankTable is what ranks hold.
func (c *Capture) rankTable() display.Table {
	right := display.AlignRight
	t := display.Table{Title: "Ranks", Columns: []display.Column{
		{Name: "rank"}, {Name: "stage"}, {Name: "weights", Align: right}, {Name: "read a step", Align: right}, {Name: "cache planned", Align: right}, {Name: "held", Align: right},
	}}
	for _, r := range c.Ranks {
		t.Rows = append(t.Rows, []any{r.Rank, r.Stage, display.FormatBytes(r.Weights), display.FormatBytes(r.Read), display.FormatBytes(r.KVPlanned), display.FormatBytes(r.KVHeld)})
	}
	return t
}
