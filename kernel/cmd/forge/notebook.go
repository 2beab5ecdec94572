package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/kernel/client"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/export"
	"forgekernel/kernel/notebook/runner"
	"forgekernel/kernel/notebook/terminal"
	"forgekernel/kernel/notebook/verify"
)

func notebookCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notebook",
		Short: "Run, verify and export notebooks without Jupyter",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usageError{fmt.Errorf("no command %q of forge notebook: there are run, verify and html", args[0])}
		},
	}
	cmd.AddCommand(notebookRunCommand(), notebookVerifyCommand(), notebookHTMLCommand())
	return cmd
}

// execution are the flags of commands that execute a notebook.
type execution struct {
	timeout time.Duration
	params  map[string]string
}

func (e *execution) flags(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&e.timeout, "timeout", 10*time.Minute, "time for one cell; 0 means no limit")
	cmd.Flags().StringToStringVar(&e.params, "param", nil, `k=v: a value for a variable of the cell tagged "parameters"`)
}

// options make the runner start this binary as the kernel, in the directory of
// the notebook, as Jupyter does.
func (e *execution) options(path string) (runner.Options, error) {
	self, err := os.Executable()
	if err != nil {
		return runner.Options{}, err
	}
	if e.timeout < 0 {
		return runner.Options{}, usageError{errors.New("--timeout must not be negative")}
	}
	return runner.Options{
		Kernel: client.Command{
			Argv: []string{self, "kernel", "--connection-file", "{connection_file}"},
			Dir:  filepath.Dir(path),
		},
		CellTimeout: e.timeout,
		Params:      e.params,
	}, nil
}

func notebookRunCommand() *cobra.Command {
	var (
		exec        execution
		out, html   string
		allowErrors bool
		quiet       bool
	)
	cmd := &cobra.Command{
		Use:   "run IN [-o OUT] [--html OUT] [--param k=v] [--timeout D]",
		Short: "Execute a notebook on the kernel and write what it showed",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			nb, err := notebook.ReadFile(args[0])
			if err != nil {
				return err
			}
			opts, err := exec.options(args[0])
			if err != nil {
				return err
			}
			opts.AllowErrors = allowErrors
			if !quiet {
				opts.Observer = terminal.New(cmd.OutOrStdout(), nb)
			}
			runErr := runner.Run(cmd.Context(), nb, opts)
			// What ran is written also when a cell failed: it is what the person
			// needs to see why.
			return errors.Join(runErr, writeOutputs(cmd, nb, out, html))
		}),
	}
	exec.flags(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the executed notebook to this file")
	cmd.Flags().StringVar(&html, "html", "", "write a self-contained page to this file")
	cmd.Flags().BoolVar(&allowErrors, "allow-errors", false, "go on after a cell that fails")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "do not print what the cells show")
	return cmd
}

func writeOutputs(cmd *cobra.Command, nb *notebook.Notebook, out, html string) error {
	if out != "" {
		if err := nb.WriteFile(out); err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "wrote", out)
	}
	if html != "" {
		if err := export.HTMLFile(html, nb, export.Options{Trusted: true}); err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "wrote", html)
	}
	return nil
}

func notebookVerifyCommand() *cobra.Command {
	var (
		exec   execution
		abs    float64
		rel    float64
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "verify IN",
		Short: "Execute a notebook again and compare its outputs; numbers within tolerance, timings ignored",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			nb, err := notebook.ReadFile(args[0])
			if err != nil {
				return err
			}
			opts, err := exec.options(args[0])
			if err != nil {
				return err
			}
			report, err := verify.Run(cmd.Context(), nb, verify.Options{Runner: opts, Abs: abs, Rel: rel})
			if err != nil && report == nil {
				return err
			}
			return errors.Join(err, printReport(cmd, report, asJSON))
		}),
	}
	exec.flags(cmd)
	cmd.Flags().Float64Var(&abs, "abs", 1e-8, "absolute tolerance of numbers")
	cmd.Flags().Float64Var(&rel, "rel", 1e-5, "relative tolerance of numbers")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printReport(cmd *cobra.Command, report *verify.Report, asJSON bool) error {
	var err error
	if asJSON {
		err = printJSON(cmd.OutOrStdout(), report)
	} else {
		err = report.Print(cmd.OutOrStdout())
	}
	if err == nil && !report.Same {
		return exitStatus(exitFailure)
	}
	return err
}

func notebookHTMLCommand() *cobra.Command {
	var out string
	var untrusted bool
	cmd := &cobra.Command{
		Use:   "html IN [-o OUT]",
		Short: "Export a notebook to one self-contained page, as it stands",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			nb, err := notebook.ReadFile(args[0])
			if err != nil {
				return err
			}
			if out == "" {
				out = strings.TrimSuffix(args[0], ".ipynb") + ".html"
			}
			return export.HTMLFile(out, nb, export.Options{Trusted: !untrusted})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the page (default: beside the notebook)")
	cmd.Flags().BoolVar(&untrusted, "untrusted", false, "sanitise HTML and SVG of the notebook")
	return cmd
}
