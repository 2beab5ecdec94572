package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/forge/capture/child"
)

// script is an interpreter in the place of Python: it ignores the program.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPeer(t *testing.T) {
	python := script(t, `echo '{"peer":"other","version":"1","settings":{"threads":"'$5'"}}'
while read line; do echo '{"tokens":[1,2],"margins":[0.5,0.25]}'; done`)
	p, err := openPeer(t.Context(), python, "other", "model", 3)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.ask(t.Context(), question{Op: "greedy", Tokens: []int32{7}, N: 2})
	if err != nil || len(r.Tokens) != 2 || r.Margins[1] != 0.25 || p.Settings["threads"] != "3" {
		t.Errorf("%+v, %v of %+v", r, err, p.Settings)
	}
	if last := p.close(); last != "" {
		t.Errorf("it wrote %q", last)
	}
}

// TestPeerEnds has processes that end, at the start and when asked: the error is the
// last line that they wrote.
func TestPeerEnds(t *testing.T) {
	if _, err := openPeer(t.Context(), script(t, "echo before >&2; echo no such module >&2; exit 3"), "other", "model", 1); err == nil || err.Error() != "other: its process has ended; it last wrote: no such module" {
		t.Errorf("at the start: %v", err)
	}
	p, err := openPeer(t.Context(), script(t, `echo '{"peer":"other"}'; read line; echo out of memory >&2; exit 4`), "other", "model", 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.ask(t.Context(), question{Op: "loss"}); !errors.Is(err, child.ErrEnded) || !strings.HasPrefix(err.Error(), "other: ") {
			t.Errorf("when asked: %v", err)
		}
	}
}

func TestPeerCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := openPeer(ctx, script(t, `echo '{"peer":"other"}'; exec sleep 60`), "other", "model", 1)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := p.ask(ctx, question{Op: "loss"}); !errors.Is(err, context.Canceled) || p.process != nil {
		t.Errorf("a process that was cancelled: %v", err)
	}
}

// TestConverted writes a form once, and nothing when that fails.
func TestConverted(t *testing.T) {
	out := filepath.Join(t.TempDir(), "folder that is made", "form")
	if _, err := converted(t.Context(), script(t, "echo half > $5; echo disk full; exit 1"), "model", "f32", out); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("failed: %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("half a form is there")
	}
	for _, body := range []string{"echo whole > $5", "exit 1"} { // the second is not run
		if _, err := converted(t.Context(), script(t, body), "model", "f32", out); err != nil {
			t.Error(err)
		}
	}
	if raw, err := os.ReadFile(out); err != nil || string(raw) != "whole\n" {
		t.Errorf("%q, %v", raw, err)
	}
}
