package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/install/bundle"
)

// sent are the flags of commands that send a notebook to a host.
type sent struct {
	spec    bundle.Spec
	tp      int
	timeout time.Duration
	dir     string
	dryRun  bool
}

func (s *sent) flags(cmd *cobra.Command, timeout time.Duration) {
	f := cmd.Flags()
	f.Var((*params)(&s.spec.Params), "param", `a value for a variable of the cell tagged "parameters"`)
	f.IntVar(&s.tp, "tp", 0, "tensor parallelism: the same as --param tp=N, on a machine that has as many GPUs")
	f.StringVar(&s.spec.Model, "model", "", `a file or folder to send along; the parameter "model" is its path on the host`)
	f.StringVar(&s.spec.Binary, "binary", "", "forge for linux/amd64, to send along (default: this program, where it is that)")
	f.StringVar(&s.spec.Expect, "expect", "", "the machine that the job is for, such as 2xT4; on another one it fails at its start (default: the one of the name of its GPU)")
	f.DurationVar(&s.timeout, "timeout", timeout, "time for the whole job")
	f.StringVar(&s.dir, "dir", "", "the folder for what is sent and what comes back (default: the notebook's name with the host's)")
	f.BoolVar(&s.dryRun, "dry-run", false, "write everything and print the commands, and run none")
}

// complete fills in what follows from the notebook and the machine, and refuses before
// anything is sent what could not work.
func (s *sent) complete(ctx context.Context, notebook, host, shape string) error {
	s.spec.Notebook = notebook
	if s.dir == "" {
		s.dir = strings.TrimSuffix(filepath.Base(notebook), ".ipynb") + "-" + host
	}
	if s.spec.Expect == "" {
		s.spec.Expect = shape
	}
	if s.spec.Binary == "" {
		if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
			return usageError{fmt.Errorf("hosts are linux/amd64 and this program is for %s/%s: give that of the release with --binary", runtime.GOOS, runtime.GOARCH)}
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		s.spec.Binary = self
	}
	if err := s.addTP(); err != nil {
		return err
	}
	return s.checkNotebook(ctx)
}

func (s *sent) addTP() error {
	if s.tp == 0 {
		return nil
	}
	gpus, _, _ := strings.Cut(s.spec.Expect, "x")
	switch n, _ := strconv.Atoi(gpus); {
	case s.tp < 0:
		return usageError{errors.New("--tp must be positive")}
	case n > 0 && s.tp > n:
		return usageError{fmt.Errorf("--tp %d needs as many GPUs, and the machine %s has %d", s.tp, s.spec.Expect, n)}
	case s.spec.Params["tp"] != "":
		return usageError{errors.New("--tp and --param tp say the same: give one")}
	}
	params := maps.Clone(s.spec.Params)
	if params == nil {
		params = map[string]string{}
	}
	params["tp"] = strconv.Itoa(s.tp)
	s.spec.Params = params
	return nil
}

// checkNotebook finds out here what the host would find out after an upload.
func (s *sent) checkNotebook(ctx context.Context) error {
	exec := execution{params: maps.Clone(s.spec.Params)}
	if s.spec.Model != "" {
		if exec.params == nil {
			exec.params = map[string]string{}
		}
		exec.params["model"] = "/a/path"
	}
	_, _, err := exec.open(ctx, s.spec.Notebook)
	return err
}
