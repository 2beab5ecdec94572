package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"forgekernel/kernel/client"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/internal/fakekernel"
	"forgekernel/kernel/notebook/runner"
)

func TestMain(m *testing.M) {
	fakekernel.Main()
	os.Exit(m.Run())
}

// executed makes a notebook and runs it, so that it has outputs.
func executed(t *testing.T, opts runner.Options, sources ...string) *notebook.Notebook {
	t.Helper()
	nb := &notebook.Notebook{}
	for _, s := range sources {
		c := &notebook.Cell{Type: notebook.Code, Source: s, Metadata: map[string]any{}}
		nb.Insert(len(nb.Cells), c)
	}
	opts.AllowErrors = true
	if err := runner.Run(testContext(t), nb, opts); err != nil && !errors.Is(err, client.ErrDead) {
		t.Fatal(err)
	}
	return nb
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func options(t *testing.T) Options {
	t.Helper()
	command, err := fakekernel.Command()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Runner: runner.Options{Kernel: command}}
}

func statuses(r *Report) string {
	var list []string
	for _, c := range r.Cells {
		list = append(list, string(c.Status))
	}
	return strings.Join(list, ", ")
}

func tag(c *notebook.Cell, tag string) { c.Metadata["tags"] = []any{tag} }

// The notebook as run now has the tags of the stored one, each once, as the format asks,
// whatever the run needed.
func TestTagsStay(t *testing.T) {
	opts := options(t)
	nb := executed(t, opts.Runner, "fail E v", "fail E v")
	tag(nb.Cells[0], runner.TagRaisesException)
	r, err := Run(testContext(t), nb, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{runner.TagRaisesException, ""} {
		if got := strings.Join(r.Fresh.Cells[i].Tags(), ", "); got != want {
			t.Errorf("cell %d has the tags %s, want %s", i, got, want)
		}
	}
}

func TestSame(t *testing.T) {
	opts := options(t)
	nb := executed(t, opts.Runner, "print took 3 ms", "fail E v", "result 0.5")
	nb.Cells[0].Outputs[0].Text = "took 40.5 µs\n"
	nb.Cells[2].Outputs[0].Data["text/plain"] = "0.500000001"
	var before strings.Builder
	if err := nb.Write(&before); err != nil {
		t.Fatal(err)
	}
	r, err := Run(testContext(t), nb, opts)
	if err != nil || !r.Verified || statuses(r) != "within tolerance, identical, within tolerance" {
		t.Errorf("report is %+v, %v", r, err)
	}
	var after strings.Builder
	if err := nb.Write(&after); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() {
		t.Error("the notebook was changed")
	}
	if r.Fresh == nil || len(r.Fresh.Cells) != 3 || r.Fresh.Cells[1].Tags() != nil || len(r.Fresh.Cells[1].Outputs) != 1 {
		t.Errorf("the fresh notebook is %+v", r.Fresh)
	}
}

func TestDiffers(t *testing.T) {
	opts := options(t)
	nb := executed(t, opts.Runner, "print a", "print b", "die", "print c")
	nb.Cells[0].Outputs[0].Text = "A\n"
	tag(nb.Cells[1], TagTiming)
	nb.Cells[1].Outputs = nil
	tag(nb.Cells[2], TagSkip)
	r, err := Run(testContext(t), nb, opts)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verified || statuses(r) != "changed, skipped, skipped, changed" {
		t.Errorf("cells are %s", statuses(r))
	}
	if d := r.Cells[0].Differences; len(d) != 1 || d[0] != (Difference{Where: "stdout", Want: "A", Got: "a"}) {
		t.Errorf("differences of cell 1 are %+v", d)
	}
	content, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(content), `"status":"changed","differences":[{"where":"stdout","want":"A","got":"a"}]`) {
		t.Errorf("JSON is %s, %v", content, err)
	}
}

// TestFails compares a notebook whose cell fails now.
func TestFails(t *testing.T) {
	opts := options(t)
	nb := executed(t, opts.Runner, "print a", "print b", "print c", " ")
	nb.Cells[1].Source = "fail E v"
	tag(nb.Cells[1], TagIgnoreOutput)
	nb.Cells[2].Outputs = nil
	r, err := Run(testContext(t), nb, opts)
	var cellErr *runner.CellError
	if !errors.As(err, &cellErr) || cellErr.Place.Index != 1 {
		t.Errorf("error is %v", err)
	}
	if statuses(r) != "identical, failed, not run, identical" || r.Cells[1].Error != "E: v" {
		t.Errorf("report is %+v", r)
	}
}

func TestObserverIsKept(t *testing.T) {
	opts := options(t)
	nb := executed(t, opts.Runner, "print a")
	var seen seer
	opts.Runner.Observer = &seen
	if _, err := Run(testContext(t), nb, opts); err != nil {
		t.Fatal(err)
	}
	if seen.String() != "begin end <nil>" {
		t.Errorf("the observer saw %q", seen.String())
	}
}

type seer struct {
	runner.Silent
	strings.Builder
}

func (s *seer) Begin(int, *notebook.Cell) { fmt.Fprint(s, "begin ") }
func (s *seer) End(_ int, _ *notebook.Cell, _ time.Duration, err error) {
	fmt.Fprint(s, "end ", err)
}
