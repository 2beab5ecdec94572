package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/install"
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
	params  params
}

func (e *execution) flags(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&e.timeout, "timeout", 10*time.Minute, "time for one cell; 0 means no limit")
	cmd.Flags().Var(&e.params, "param", `a value for a variable of the cell tagged "parameters"`)
}

// open reads a notebook for this kernel, and says how to run it.
func (e *execution) open(path string) (*notebook.Notebook, runner.Options, error) {
	opts, err := e.options(path)
	if err != nil {
		return nil, opts, err
	}
	nb, err := notebook.ReadFile(path)
	if err == nil {
		err = isOurs(path, nb)
	}
	return nb, opts, err
}

// isOurs refuses a notebook that names another kernel, whose cells would all
// fail. One of another Go kernel may run.
func isOurs(path string, nb *notebook.Notebook) error {
	spec, _ := nb.Metadata["kernelspec"].(map[string]any)
	name, _ := spec["name"].(string)
	language, _ := spec["language"].(string)
	if info, ok := nb.Metadata["language_info"].(map[string]any); ok && language == "" {
		language, _ = info["name"].(string)
	}
	if name == "" || name == install.Name || strings.EqualFold(language, "go") {
		return nil
	}
	return fmt.Errorf("%s is a notebook of the kernel %q: choose the kernel Forge in Jupyter, or make its kernelspec %q, if its cells are Go or ForgeScript", path, name, install.Name)
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
		Args:  oneArgument("notebook"),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			nb, opts, err := exec.open(args[0])
			if err != nil {
				return err
			}
			for _, path := range []string{out, html} {
				if path == "" {
					continue
				}
				if err := checkWritable(path); err != nil {
					return err
				}
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
		Args:  oneArgument("notebook"),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			nb, opts, err := exec.open(args[0])
			if err != nil {
				return err
			}
			report, err := verify.Run(cmd.Context(), nb, verify.Options{Runner: opts, Abs: abs, Rel: rel})
			if err != nil && report == nil {
				return fmt.Errorf("%s: %w", args[0], err)
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
		Args:  oneArgument("notebook"),
		RunE: func(cmd *cobra.Command, args []string) error {
			nb, err := notebook.ReadFile(args[0])
			if err != nil {
				return err
			}
			opts := export.Options{Trusted: !untrusted}
			if out == "-" {
				return export.HTML(cmd.OutOrStdout(), nb, opts)
			}
			if out == "" {
				out = strings.TrimSuffix(args[0], ".ipynb") + ".html"
			}
			if err := export.HTMLFile(out, nb, opts); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "wrote", out)
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the page, or - for standard output (default: beside the notebook)")
	cmd.Flags().BoolVar(&untrusted, "untrusted", false, "sanitise HTML and SVG of the notebook")
	return cmd
}
