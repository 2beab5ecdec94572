package main

import (
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
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/runner"
)

// sent are the flags of commands that send a notebook to a host.
type sent struct {
	spec   bundle.Spec
	params execution // what it has of them
	tp     int
	whole  time.Duration // of the job
	dir    string
	dryRun bool
}

func (s *sent) flags(cmd *cobra.Command, timeout time.Duration) {
	f := cmd.Flags()
	s.params.paramFlag(cmd)
	f.IntVar(&s.tp, "tp", 0, "tensor parallelism: the same as --param tp=N, on a machine that has as many GPUs")
	f.StringVar(&s.spec.Model, "model", "", `a file or folder to send along; the parameter "model" is its path on the host`)
	f.StringVar(&s.spec.Binary, "binary", "", "forge for linux/amd64, to send along (default: this program, where it is that)")
	f.StringVar(&s.spec.Expect, "expect", "", "the machine that the job is for, such as 2xT4; on another one it fails at its start (default: the one of the name of its GPU)")
	f.DurationVar(&s.whole, "timeout", timeout, "time for the whole job")
	f.StringVar(&s.dir, "dir", "", "the folder for what is sent and what comes back (default: the notebook's name with the host's)")
	f.BoolVar(&s.dryRun, "dry-run", false, "write everything and print the commands, and run none")
}

// complete fills in what follows from the notebook and the machine, and refuses before
// anything is sent what could not work.
func (s *sent) complete(notebook, host, shape string) error {
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
	if err := s.settle(); err != nil {
		return err
	}
	return s.checkNotebook()
}

// settle reads the parameters, of which --tp is one.
func (s *sent) settle() error {
	var err error
	if s.spec.Params, err = s.params.values(); err != nil {
		return usageError{err}
	}
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
	s.spec.Params["tp"] = strconv.Itoa(s.tp)
	return nil
}

// checkNotebook finds out here what the host would find out after an upload.
func (s *sent) checkNotebook() error {
	nb, err := notebook.ReadFile(s.spec.Notebook)
	if err == nil {
		err = isOurs(s.spec.Notebook, nb)
	}
	if err != nil {
		return err
	}
	values := maps.Clone(s.spec.Params)
	if s.spec.Model != "" {
		values["model"] = "/a/path"
	}
	if err := runner.Check(nb, values); err != nil {
		return fmt.Errorf("%s: %w", s.spec.Notebook, err)
	}
	return nil
}
