package child

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// script starts a shell in the place of a library.
func script(t *testing.T, body string) *Process {
	t.Helper()
	p, err := Start([]string{"sh", "-c", body}, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.End()
		}
	})
	return p
}

// TestAsk talks to a process and ends it with what it has started.
func TestAsk(t *testing.T) {
	p := script(t, `sleep 1000 & echo $!; while read line; do echo "<$line>"; done`)
	other, err := p.Next(t.Context())
	if err != nil || len(other) == 0 {
		t.Fatalf("%q, %v", other, err)
	}
	for _, text := range []string{"one", "", "two"} {
		if got, err := p.Ask(t.Context(), []byte(text)); err != nil || string(got) != "<"+text+">" {
			t.Errorf("%q is answered by %q, %v", text, got, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := p.Next(ctx); err == nil || err.Error() != "enough" {
		t.Errorf("a wait that was ended: %v", err)
	}
	if last := p.End(); last != "" {
		t.Errorf("it wrote %q", last)
	}
	if err := syscall.Kill(p.PID(), 0); err != syscall.ESRCH {
		t.Errorf("it is left: %v", err)
	}
}

// TestEnds checks what is told of processes that end, or say too much.
func TestEnds(t *testing.T) {
	p := script(t, "echo first >&2; echo no such module >&2")
	if _, err := p.Next(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("at its end: %v", err)
	}
	if last := p.End(); last != "no such module" {
		t.Errorf("it last wrote %q", last)
	}
	p = script(t, "while echo again; do :; done")
	var err error
	for err == nil { // until it is faster than this
		_, err = p.Next(t.Context())
	}
	if !strings.Contains(err.Error(), "more than it was asked") {
		t.Errorf("unasked lines: %v", err)
	}
	if _, err := Start([]string{"/no/such/program"}, nil); err == nil {
		t.Error("a program that is not there has started")
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("OPENBLAS_CORETYPE", "Haswell")
	t.Setenv("OPENBLAS_L2_SIZE", "512")
	t.Setenv("OMP_NUM_THREADS", "64")
	t.Setenv("PYTHONPATH", "/elsewhere")
	env := Environment(2)
	for _, entry := range env {
		if strings.HasPrefix(entry, "OPENBLAS_CORETYPE") || strings.HasPrefix(entry, "OPENBLAS_L2") || strings.HasPrefix(entry, "PYTHONPATH") || entry == "OMP_NUM_THREADS=64" {
			t.Errorf("the peer gets %s", entry)
		}
	}
	for _, want := range []string{"OMP_NUM_THREADS=2", "MKL_NUM_THREADS=2", "OPENBLAS_NUM_THREADS=2"} {
		if !slices.Contains(env, want) {
			t.Errorf("the peer does not get %s", want)
		}
	}
}
