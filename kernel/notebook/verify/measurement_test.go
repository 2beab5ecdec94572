package verify

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"forgekernel/display"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/capture"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/kernel/notebook"
)

// measured is a capture whose samples take the given times, in milliseconds, one in each
// of six blocks.
func measured(t testing.TB, blocks int, times ...float64) *capture.Capture {
	t.Helper()
	g, err := ir.Parse(op.Registry, "graph f(%x: f32[8]) {\n  %y: f32[8] = relu %x\n  return %y\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	s, err := capture.NewSubject("f", g, 7)
	if err != nil {
		t.Fatal(err)
	}
	m := capture.New(capture.Settings{Samples: 6, Warmup: 1, Seed: 7, Blocks: blocks})
	m.Limits = func(context.Context) *capture.Limits { return nil }
	c, err := m.Measure(t.Context(), []*capture.Subject{s}, []capture.Candidate{capture.OnBackend(interp.New(), capture.Written, 1)})
	if err != nil {
		t.Fatal(err)
	}
	series := &c.Workloads[0].Series[0]
	for i, ms := range times {
		series.Wall[i] = ms / 1e3
	}
	summary := capture.Summarise(series.Wall)
	series.Summary = &summary
	return c
}

// shown is a capture as an output of a notebook.
func shown(t testing.TB, c *capture.Capture) *notebook.Output {
	t.Helper()
	r, err := capture.NewReport(c, true)
	if err != nil {
		t.Fatal(err)
	}
	data, metadata := r.Display().Wire()
	return &notebook.Output{Type: notebook.DisplayData, Data: data, Metadata: metadata}
}

// showing is a command of the fake kernel that displays an output.
func showing(t *testing.T, o *notebook.Output) string {
	t.Helper()
	content, err := json.Marshal(map[string]any{"data": o.Data, "metadata": o.Metadata})
	if err != nil {
		t.Fatal(err)
	}
	return "send display_data " + string(content)
}

func TestMeasured(t *testing.T) {
	stored := measured(t, 6, 1, 1.1, 1.2, 1, 1.1, 1.2)
	elsewhere := measured(t, 6, 9, 9, 9, 9, 9, 9)
	elsewhere.Environment.CPU = "Other 1"
	momentary := measured(t, 0, 9, 9, 9, 9, 9, 9)
	for _, c := range []struct {
		name          string
		stored, fresh *capture.Capture
		skip          bool
		status        Status
		says          string
	}{
		{"overlap", stored, measured(t, 6, 1.2, 1.3, 1.4, 1.2, 1.3, 1.4), false, Within, "1 of 1 stated intervals overlap"},
		{"apart", stored, measured(t, 6, 1.3, 1.3, 1.4, 1.3, 1.3, 1.4), false, Changed, "f, interp written, 1 thread, time: 1.100 ms (1.000 – 1.200 ms), then 1.300 ms (1.300 – 1.400 ms)"},
		{"not to be compared", stored, measured(t, 6, 9, 9, 9, 9, 9, 9), true, Skipped, "times are not to be compared"},
		{"another machine", stored, elsewhere, false, Skipped, "the processor differs"},
		{"no blocks", momentary, momentary, false, Skipped, "without blocks"},
		{"other settings", stored, momentary, false, Changed, "the number of blocks differs: 6 and 0"},
	} {
		opts := options(t)
		opts.SkipTimes = c.skip
		nb := executed(t, opts.Runner, showing(t, shown(t, c.fresh)))
		nb.Cells[0].Outputs = []*notebook.Output{shown(t, c.stored)}
		r, err := Run(testContext(t), nb, opts)
		if err != nil {
			t.Fatal(c.name, err)
		}
		cell := r.Cells[0]
		said := cell.Reason
		for _, d := range cell.Differences {
			said += d.Detail
		}
		if cell.Status != c.status || !strings.Contains(said, c.says) || r.Verified != (c.status != Changed) {
			t.Errorf("%s: %s, %q", c.name, cell.Status, said)
		}
	}
}

// A stored capture that is not what it says changes its cell, whatever the new run
// finds, and is found without a run.
func TestForged(t *testing.T) {
	c := measured(t, 6, 1, 1, 1, 1, 1, 1)
	genuine := shown(t, c)
	c.Workloads[0].Series[0].Wall[0] = 0.5e-3
	summary := capture.Summarise(c.Workloads[0].Series[0].Wall)
	c.Workloads[0].Series[0].Summary = &summary
	packed, err := capture.Pack(c) // with a hash of its own
	if err != nil {
		t.Fatal(err)
	}
	for want, forge := range map[string]func(*notebook.Output){
		"the output states the hash":    func(o *notebook.Output) { o.Data[capture.MIMEType] = base64.StdEncoding.EncodeToString(packed) },
		"not base64 text":               func(o *notebook.Output) { o.Data[capture.MIMEType] = map[string]any{} },
		"the capture is not base64":     func(o *notebook.Output) { o.Data[capture.MIMEType] = "*" },
		"not compressed by gzip":        func(o *notebook.Output) { o.Data[capture.MIMEType] = "AAAA" },
		"is not drawn from its capture": func(o *notebook.Output) { o.Data["text/plain"] = "0.1 ms" },
		"states the hash \"\"":          func(o *notebook.Output) { o.Metadata = nil },
		"more than 134217728":           func(o *notebook.Output) { o.Data[capture.MIMEType] = strings.Repeat("A", 2*capture.MaxFile+1) },
	} {
		o := shown(t, mustCapture(t, genuine))
		forge(o)
		nb := &notebook.Notebook{Cells: []*notebook.Cell{{Type: notebook.Code, Source: "x", ExecutionCount: 1, Outputs: []*notebook.Output{o}}}}
		r, err := Stored(nb, nil)
		if err != nil || r.Verified || len(r.Cells[0].Differences) != 1 || !strings.Contains(r.Cells[0].Differences[0].Detail, want) {
			t.Errorf("%+v, %v, want %q", r, err, want)
		}
	}
}

func mustCapture(t *testing.T, o *notebook.Output) *capture.Capture {
	t.Helper()
	m, err := Measured(o)
	if err != nil {
		t.Fatal(err)
	}
	return m.Captures[0]
}

// A program of the commit that took a capture draws it as it was drawn; one of another
// commit may not. What a cell drew itself cannot be drawn again.
func TestRedrawn(t *testing.T) {
	c := measured(t, 6, 1, 1, 1, 1, 1, 1)
	c.Environment.Commit, c.Environment.Tree = "c0ffee", capture.Clean
	agreement, err := capture.Agree(c, c)
	if err != nil {
		t.Fatal(err)
	}
	report, err := capture.NewReport(c, true)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]display.Bundle{"report": report.Display(), "agreement": agreement.Display(), "own": report.With(display.Table{})} {
		for _, forged := range []bool{false, true} {
			data, metadata := b.Wire()
			if forged {
				data["text/html"] = "0.1 ms"
			}
			o := &notebook.Output{Type: notebook.DisplayData, Data: data, Metadata: metadata}
			nb := &notebook.Notebook{Cells: []*notebook.Cell{{Type: notebook.Code, Source: "x", ExecutionCount: 1, Outputs: []*notebook.Output{o}}}}
			for _, commit := range []string{"c0ffee", "beef"} {
				here := &capture.Environment{Commit: commit, Tree: capture.Clean}
				want := !forged || commit == "beef" || name == "own"
				if r, err := Stored(nb, here); err != nil || r.Verified != want {
					t.Errorf("%s, forged %v, at %s: %+v, %v", name, forged, commit, r, err)
				}
			}
		}
	}
}

func TestStored(t *testing.T) {
	opts := options(t)
	nb := executed(t, opts.Runner, "print a", "fail E v", "fail E v", showing(t, shown(t, measured(t, 6, 1, 1, 1, 1, 1, 1))))
	tag(nb.Cells[2], "raises-exception")
	r, err := Stored(nb, nil)
	if err != nil || r.Verified || statuses(r) != "identical, failed, identical, identical" || r.Cells[3].Reason != "captures that prove themselves: 1" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Stored(&notebook.Notebook{Cells: []*notebook.Cell{{Type: notebook.Code, Source: "x"}}}, nil); err != ErrNeverRun {
		t.Errorf("error %v", err)
	}
}

// A cell that is not compared tells that its captures were checked.
func TestTimingIsProven(t *testing.T) {
	opts := options(t)
	nb := executed(t, opts.Runner, showing(t, shown(t, measured(t, 6, 1, 1, 1, 1, 1, 1))), "print a")
	tag(nb.Cells[0], TagTiming)
	tag(nb.Cells[1], TagTiming)
	r, err := Run(testContext(t), nb, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"not compared: tagged timing; captures that prove themselves: 1", "not compared: tagged timing"} {
		if got := r.Cells[i].Reason; got != want {
			t.Errorf("cell %d: %q, want %q", i, got, want)
		}
	}
}

// A verdict that follows from times is compared where times are.
func TestVerdicts(t *testing.T) {
	opts := options(t)
	nb := executed(t, opts.Runner, "print slower")
	tag(nb.Cells[0], TagMeasured)
	nb.Cells[0].Outputs[0].Text = "faster\n"
	for skip, want := range map[bool]Status{false: Changed, true: Skipped} {
		opts.SkipTimes = skip
		if r, err := Run(testContext(t), nb, opts); err != nil || r.Cells[0].Status != want {
			t.Errorf("skip %v: %+v, %v", skip, r, err)
		}
	}
}

// What one host lacks is not held against a notebook.
func TestSkippedParts(t *testing.T) {
	skip := func(reason string) *notebook.Output {
		data, metadata := display.Skipped(reason).Wire()
		return &notebook.Output{Type: notebook.DisplayData, Data: data, Metadata: metadata}
	}
	opts := options(t)
	nb := executed(t, opts.Runner, showing(t, skip("no GPU")), "print 7", showing(t, skip("no GPU")))
	nb.Cells[0].Outputs = []*notebook.Output{{Type: notebook.Stream, Name: "stdout", Text: "3 ms\n"}}
	nb.Cells[1].Outputs = []*notebook.Output{skip("no compiler")}
	r, err := Run(testContext(t), nb, opts)
	if err != nil || !r.Verified || statuses(r) != "skipped, skipped, skipped" {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, want := range []string{"this run says: no GPU", "the stored run says: no compiler", "both runs say: no GPU"} {
		if r.Cells[i].Reason != want {
			t.Errorf("cell %d: %q, want %q", i+1, r.Cells[i].Reason, want)
		}
	}
}

func TestNotes(t *testing.T) {
	opts := options(t)
	opts.Runner.Environment = &capture.Environment{CPU: "One", Commit: "c0ffee"}
	nb := executed(t, opts.Runner, "print a")
	opts.Runner.Environment = &capture.Environment{CPU: "Two", Commit: "c0ffee", Compiler: "cc 13"}
	nb.Cells[0].Source = "print b"
	r, err := Run(testContext(t), nb, opts)
	if err != nil {
		t.Fatal(err)
	}
	const want = "code was edited after the run that is stored\nprocessor: One in the stored run, Two here\nC compiler: none in the stored run, cc 13 here"
	if got := strings.Join(r.Notes, "\n"); got != want {
		t.Errorf("notes\n%s\nwant\n%s", got, want)
	}
	nb.Metadata["forge"] = map[string]any{"run": map[string]any{"id": 7}}
	if r, err = Run(testContext(t), nb, opts); err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "says nothing") {
		t.Errorf("notes %q, %v", r.Notes, err)
	}
}
