package client

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"forgekernel/kernel/wire"
)

// ipykernel is the kernel whose behaviour the protocol's text follows.
func ipykernel(t testing.TB) Command {
	t.Helper()
	python := os.Getenv("FORGE_PYTHON")
	if python == "" {
		t.Skip("FORGE_PYTHON does not name a Python with ipykernel")
	}
	return Command{
		Argv: []string{python, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"},
		Env:  []string{"IPYTHONDIR=" + t.TempDir()},
	}
}

func TestIPykernel(t *testing.T) {
	for _, opts := range []Options{{}, {IPC: true}} {
		opts.Input = func(_ context.Context, prompt string, password bool) (string, error) {
			return "answer to " + prompt, nil
		}
		c := start(t, ipykernel(t), opts)
		ctx := testContext(t)
		if info := c.Info(); info.Implementation != "ipython" || info.LanguageInfo.Name != "python" {
			t.Errorf("info %+v", info)
		}
		for code, want := range map[string]string{
			"print('hello')":      "stream(hello\n)",
			"1 + 1":               "execute_result()",
			"1 / 0":               "error(ZeroDivisionError)",
			"print(input('q? '))": "stream(answer to q? \n)",
		} {
			if got, _ := run(t, c, code); got != want {
				t.Errorf("%s: got %q, want %q", code, got, want)
			}
		}
		if r, err := c.Complete(ctx, "prin", 4); err != nil || !strings.Contains(strings.Join(r.Matches, " "), "print") {
			t.Errorf("Complete: %+v, %v", r, err)
		}
		if r, err := c.Inspect(ctx, "print", 3, 0); err != nil || !r.Found {
			t.Errorf("Inspect: %+v, %v", r, err)
		}
		if r, err := c.IsComplete(ctx, "def f():"); err != nil || r.Status != "incomplete" {
			t.Errorf("IsComplete: %+v, %v", r, err)
		}
		if r, err := c.History(ctx, wire.HistoryRequest{HistAccessType: "tail", N: 2, Raw: true}); err != nil || len(r.History) != 2 {
			t.Errorf("History: %+v, %v", r, err)
		}
		if r, err := c.CommInfo(ctx, ""); err != nil || r.Status != wire.StatusOK {
			t.Errorf("CommInfo: %+v, %v", r, err)
		}
		interruptPython(t, c)
		if err := c.Shutdown(ctx, false); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		c.Close()
	}
}

func interruptPython(t *testing.T, c *Client) {
	t.Helper()
	ctx := testContext(t)
	e, err := c.Execute(ctx, "import time\nprint('started', flush=True)\ntime.sleep(60)", ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for m := range e.Outputs() {
		if m.Header.MsgType == "stream" {
			break
		}
	}
	// ipykernel may lose a signal that arrives while it hands the output over,
	// so this presses the button until there is an answer, as a person would.
	answered := make(chan struct{})
	go func() {
		for {
			if err := c.Interrupt(ctx); err != nil {
				t.Errorf("Interrupt: %v", err)
				return
			}
			select {
			case <-answered:
				return
			case <-ctx.Done():
				return
			case <-time.After(2 * time.Second):
			}
		}
	}()
	_, reply, err := e.Wait(ctx)
	close(answered)
	if err != nil || reply.Name != "KeyboardInterrupt" {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func TestIPykernelDies(t *testing.T) {
	c := start(t, ipykernel(t), Options{})
	ctx := testContext(t)
	e, err := c.Execute(ctx, "import os; os._exit(5)", ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Wait(ctx); err == nil || !strings.Contains(err.Error(), "exit status 5") {
		t.Errorf("got %v", err)
	}
}
