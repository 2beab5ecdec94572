package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"forgekernel/kernel/client"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/internal/fakekernel"
)

func TestMain(m *testing.M) {
	fakekernel.Main()
	os.Exit(m.Run())
}

// book makes a notebook of code cells; a source may begin with "#TAG\n".
func book(sources ...string) *notebook.Notebook {
	nb := &notebook.Notebook{}
	for _, source := range sources {
		c := &notebook.Cell{Type: notebook.Code, Metadata: map[string]any{}}
		if tag, rest, ok := strings.Cut(source, "\n"); ok && strings.HasPrefix(tag, "#") {
			c.Metadata["tags"] = []any{tag[1:]}
			source = rest
		}
		c.Source = source
		nb.Insert(len(nb.Cells), c)
	}
	return nb
}

func options(t *testing.T) Options {
	t.Helper()
	command, err := fakekernel.Command()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Kernel: command}
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// outputs renders the outputs of a cell on one line.
func outputs(c *notebook.Cell) string {
	var parts []string
	for _, o := range c.Outputs {
		switch o.Type {
		case notebook.Stream:
			parts = append(parts, fmt.Sprintf("%s %q", o.Name, o.Text))
		case notebook.Error:
			parts = append(parts, fmt.Sprintf("error %s %q %d", o.ErrorName, o.ErrorValue, len(o.Traceback)))
		case notebook.ExecuteResult:
			parts = append(parts, fmt.Sprintf("result[%d] %v", o.ExecutionCount, o.Data["text/plain"]))
		default:
			parts = append(parts, fmt.Sprintf("display %v", o.Data["text/plain"]))
		}
	}
	return strings.Join(parts, "; ")
}

// TestMerging checks outputs as nbclient merges them.
func TestMerging(t *testing.T) {
	for _, c := range []struct {
		name  string
		cells []string
		want  []string
	}{
		{"streams are joined until another output", []string{"print a\nprint b\neprint e\nprint c\nshow - d\nprint f"},
			[]string{`stdout "a\nb\n"; stderr "e\n"; stdout "c\n"; display d; stdout "f\n"`}},
		{"result", []string{"print x\nresult 7", "result 8"}, []string{`stdout "x\n"; result[1] 7`, "result[2] 8"}},
		{"updates reach earlier cells", []string{"show a one\nshow b two\nshow a three", "print x\nupdate a four", "update a five\nupdate none six"},
			[]string{"display five; display two; display five", `stdout "x\n"`, ""}},
		{"a second display under an id updates the first", []string{"show a one", "show a two"}, []string{"display two", "display two"}},
		{"clear", []string{"print x\nshow a one\nclear\nprint y", "update a two"}, []string{`stdout "y\n"`, ""}},
		{"clear and wait", []string{"print x\nclear wait\nprint y\nclear wait"}, []string{`stdout "y\n"`}},
		{"clear twice", []string{"print x\nclear wait\nclear wait\nshow - y"}, []string{"display y"}},
		{"a clear that waits ends with its cell", []string{"print x\nclear wait", "print y"}, []string{`stdout "x\n"`, `stdout "y\n"`}},
		{"empty and skipped cells", []string{" \n", "#skip-execution\nfail E no", "print y"}, []string{"", "", `stdout "y\n"`}},
		{"messages of no concern", []string{`send comm_open {"comm_id": "x", "target_name": "y", "data": {}}` + "\nprint y"}, []string{`stdout "y\n"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			nb := book(c.cells...)
			if err := Run(testContext(t), nb, options(t)); err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got := outputs(nb.Cells[i]); got != want {
					t.Errorf("cell %d shows %s, want %s", i+1, got, want)
				}
			}
		})
	}
}

func TestBundleIsKept(t *testing.T) {
	nb := book(`send display_data {"data": {"application/json": {"n": 1.50, "big": 12345678901234567890}, "text/plain": "x"}, "metadata": {"image/png": {"width": 3}}, "transient": {}}`)
	if err := Run(testContext(t), nb, options(t)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := nb.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"n": 1.50`, `"big": 12345678901234567890`, `"width": 3`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is lost:\n%s", want, b.String())
		}
	}
}

func TestMetadata(t *testing.T) {
	nb := book("print x", "fail E v", "print y")
	nb.Cells[2].Outputs = []*notebook.Output{{Type: notebook.Stream, Name: "stdout", Text: "old"}}
	nb.Cells[2].ExecutionCount = 9
	err := Run(testContext(t), nb, options(t))
	var failed *CellError
	if !errors.As(err, &failed) || failed.Place.Index != 1 || err.Error() != "cell 2: E: v" {
		t.Fatalf("error is %v", err)
	}
	if nb.Cells[0].ExecutionCount != 1 || nb.Cells[1].ExecutionCount != 2 || nb.Cells[2].ExecutionCount != 0 || nb.Cells[2].Outputs != nil {
		t.Error("execution counts, or what an earlier run showed, are wrong")
	}
	times, _ := nb.Cells[0].Metadata["execution"].(map[string]any)
	for _, key := range []string{"iopub.status.busy", "iopub.execute_input", "iopub.status.idle", "shell.execute_reply"} {
		if s, _ := times[key].(string); len(s) < 20 {
			t.Errorf("metadata.execution has %s = %v", key, times[key])
		}
	}
	if info, _ := nb.Metadata["language_info"].(map[string]any); info["name"] != "go" {
		t.Errorf("language_info is %v", nb.Metadata["language_info"])
	}
	if spec, _ := nb.Metadata["kernelspec"].(map[string]any); spec["name"] != "forge" {
		t.Errorf("kernelspec is %v", nb.Metadata["kernelspec"])
	}
	run := nb.Metadata["forge"].(map[string]any)["run"].(map[string]any)
	if run["status"] != "failed" || run["error"] != "cell 2: E: v" || run["kernel"] != "fake 1.0" || len(run["id"].(string)) != 36 {
		t.Errorf("record of the run is %v", run)
	}
	var b strings.Builder
	if err := nb.Write(&b); err != nil {
		t.Errorf("a partial result cannot be written: %v", err)
	}
}

func TestAllowedErrors(t *testing.T) {
	nb := book("#raises-exception\nprint x\nfail E v\nprint never", "print y")
	if err := Run(testContext(t), nb, options(t)); err != nil {
		t.Fatal(err)
	}
	if got := outputs(nb.Cells[0]); got != `stdout "x\n"; error E "v" 1` {
		t.Errorf("cell 1 shows %s", got)
	}
	nb = book("fail E v", "print y")
	opts := options(t)
	opts.AllowErrors = true
	if err := Run(testContext(t), nb, opts); err != nil {
		t.Fatal(err)
	}
	if got := outputs(nb.Cells[1]); got != `stdout "y\n"` {
		t.Errorf("cell 2 shows %s", got)
	}
}

func TestTimeout(t *testing.T) {
	nb := book("print x\nhang", "print y")
	opts := options(t)
	opts.CellTimeout = 300 * time.Millisecond
	err := Run(testContext(t), nb, opts)
	var timeout *TimeoutError
	if !errors.As(err, &timeout) || timeout.Place.Index != 0 || timeout.Hung {
		t.Fatalf("error is %v", err)
	}
	if got := outputs(nb.Cells[0]); got != `stdout "x\nstopping\n"; error Interrupted "by the person" 1` {
		t.Errorf("cell 1 shows %s", got)
	}
	if nb.Cells[1].Outputs != nil {
		t.Error("the run went on")
	}
	if status := nb.Metadata["forge"].(map[string]any)["run"].(map[string]any)["status"]; status != "timeout" {
		t.Errorf("status is %v", status)
	}
}

// TestCancel cancels while a cell runs, as Ctrl-C does.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	nb := book("print x\nhang")
	opts := options(t)
	opts.Observer = onOutput(func() { cancel() })
	err := Run(ctx, nb, opts)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
	if got := outputs(nb.Cells[0]); got != `stdout "x\nstopping\n"; error Interrupted "by the person" 1` {
		t.Errorf("cell 1 shows %s", got)
	}
}

type onOutput func()

func (onOutput) Begin(int, *notebook.Cell)                     {}
func (f onOutput) Output(int, *notebook.Output, bool)          { f() }
func (onOutput) Clear(int)                                     {}
func (onOutput) Page(int, string)                              {}
func (onOutput) End(int, *notebook.Cell, time.Duration, error) {}

func TestDeath(t *testing.T) {
	nb := book("print x\ndie", "print y")
	err := Run(testContext(t), nb, options(t))
	if !errors.Is(err, client.ErrDead) {
		t.Fatalf("error is %v", err)
	}
	if got := outputs(nb.Cells[0]); !strings.HasPrefix(got, `stdout "x\n"; error DeadKernel`) {
		t.Errorf("cell 1 shows %s", got)
	}
}

func TestKernelDoesNotStart(t *testing.T) {
	nb := book("print x")
	nb.Cells[0].Outputs = []*notebook.Output{{Type: notebook.Stream, Name: "stdout", Text: "old"}}
	err := Run(testContext(t), nb, Options{Kernel: client.Command{Argv: []string{"/nonexistent/kernel"}}})
	var start *StartError
	if !errors.As(err, &start) || !strings.HasPrefix(err.Error(), "starting the kernel: ") {
		t.Errorf("error is %v", err)
	}
	if got := outputs(nb.Cells[0]); got != `stdout "old"` {
		t.Errorf("the cell shows %s now", got)
	}
}

// TestObserver checks what an observer sees, and in which order.
func TestObserver(t *testing.T) {
	nb := book("print a\nshow x one\nclear\npage of help\nshow x two", "update x three\nfail E v")
	var log watcher
	opts := options(t)
	opts.Observer = &log
	if err := Run(testContext(t), nb, opts); err == nil {
		t.Fatal("no error")
	}
	const want = `begin 0
output 0 stdout "a\n" update false
output 0 display one update false
clear 0
output 0 display two update false
page 0 of help
end 0 <nil>
begin 1
output 1 display three update true
output 1 error E "v" 1 update false
end 1 cell 2: E: v
`
	if log.String() != want {
		t.Errorf("saw\n%s\nwant\n%s", log.String(), want)
	}
}

type watcher struct{ strings.Builder }

func (w *watcher) Begin(i int, _ *notebook.Cell) { fmt.Fprintln(w, "begin", i) }
func (w *watcher) Output(i int, o *notebook.Output, update bool) {
	fmt.Fprintln(w, "output", i, outputs(&notebook.Cell{Outputs: []*notebook.Output{o}}), "update", update)
}
func (w *watcher) Clear(i int)             { fmt.Fprintln(w, "clear", i) }
func (w *watcher) Page(i int, text string) { fmt.Fprintln(w, "page", i, text) }
func (w *watcher) End(i int, _ *notebook.Cell, _ time.Duration, err error) {
	fmt.Fprintln(w, "end", i, err)
}
