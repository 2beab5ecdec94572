package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/display"
)

// command runs a command line and returns what it printed and its exit status.
func command(t *testing.T, args ...string) (stdout string, status int) {
	t.Helper()
	cmd := root()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(args)
	status = report(cmd.ExecuteContext(t.Context()))
	return out.String(), status
}

func TestExitStatus(t *testing.T) {
	tests := []struct {
		args string
		want int
	}{
		{"version", 0},
		{"version --json", 0},
		{"help", 0},
		{"version extra", exitUsage},
		{"version --nonsense", exitUsage},
		{"verison", exitUsage},
		{"install --user --prefix x", exitUsage},
		{"uninstall --prefix " + t.TempDir(), exitFailure},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			if _, got := command(t, strings.Fields(tt.args)...); got != tt.want {
				t.Errorf("exit status %d, want %d", got, tt.want)
			}
		})
	}
}

// What tells of progress must not stand in what a program reads.
func TestProgressIsNotOutput(t *testing.T) {
	var stdout, stderr bytes.Buffer
	cmd := runCommand()
	cmd.SetContext(t.Context())
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	if err := display.ShowContext(tellingProgress(cmd), "half way"); err != nil {
		t.Fatal(err)
	}
	if stdout.Len() > 0 || stderr.String() != "half way\n" {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
}

func TestInstallCommands(t *testing.T) {
	prefix := t.TempDir()
	if _, status := command(t, "install", "--prefix", prefix); status != 0 {
		t.Fatalf("install: exit status %d", status)
	}
	spec := filepath.Join(prefix, "share", "jupyter", "kernels", "forge", "kernel.json")
	if _, err := os.Stat(spec); err != nil {
		t.Fatal(err)
	}
	if _, status := command(t, "uninstall", "--prefix", prefix); status != 0 {
		t.Fatalf("uninstall: exit status %d", status)
	}
	if _, err := os.Stat(spec); !os.IsNotExist(err) {
		t.Errorf("kernelspec still there: %v", err)
	}
}
