package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/forge/capture"
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
		Short: "Make, run, verify and export notebooks without Jupyter",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usageError{fmt.Errorf("no command %q of forge notebook: there are new, run, verify, report and html", args[0])}
		},
	}
	cmd.AddCommand(notebookNewCommand(), notebookRunCommand(), notebookVerifyCommand(), notebookReportCommand(), notebookHTMLCommand())
	return cmd
}

// execution are the flags of commands that execute a notebook.
type execution struct {
	timeout time.Duration
	params  params
}

func (e *execution) flags(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&e.timeout, "timeout", 10*time.Minute, "time for one cell; 0 means no limit")
	cmd.Flags().Var(&e.params, "param", `a value for a variable of the cell tagged "parameters"; text needs no quotes`)
}

// open reads a notebook for this kernel, and says how to run it. Parameters that it does
// not take are refused here, before anything runs or is written.
func (e *execution) open(ctx context.Context, path string) (*notebook.Notebook, runner.Options, error) {
	opts, err := e.options(ctx, path)
	if err != nil {
		return nil, opts, err
	}
	nb, err := notebook.ReadFile(path)
	if err == nil {
		err = isOurs(path, nb)
	}
	if err == nil && len(opts.Params) > 0 {
		if err = runner.Check(nb, opts.Params); err != nil {
			err = usageError{fmt.Errorf("%s: %w", path, err)}
		}
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
func (e *execution) options(ctx context.Context, path string) (runner.Options, error) {
	self, err := os.Executable()
	if err != nil {
		return runner.Options{}, err
	}
	here := capture.Describe(ctx)
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
		Environment: &here,
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
			nb, opts, err := exec.open(cmd.Context(), args[0])
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
			if html != "" && (html == out || sameFile(html, out) || sameFile(html, args[0])) {
				return usageError{fmt.Errorf("--html: %s is the notebook itself", html)}
			}
			opts.AllowErrors = allowErrors
			if !quiet {
				opts.Observer = terminal.New(cmd.OutOrStdout(), nb)
			}
			runErr := runner.Run(cmd.Context(), nb, opts)
			if unstarted := (*runner.StartError)(nil); errors.As(runErr, &unstarted) {
				return runErr
			}
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

// comparing are the flags of the command that runs again and compares.
type comparing struct {
	execution
	opts   verify.Options
	stored bool
	out    string
	asJSON bool
}

func notebookVerifyCommand() *cobra.Command {
	v := &comparing{}
	cmd := &cobra.Command{
		Use:   "verify IN [-o OUT]",
		Short: "Execute a notebook again and compare: identical, within tolerance, changed or skipped, cell by cell",
		Args:  oneArgument("notebook"),
		RunE:  stoppable(func(cmd *cobra.Command, args []string) error { return v.run(cmd, args[0]) }),
	}
	v.flags(cmd)
	flags := cmd.Flags()
	flags.Float64Var(&v.opts.Abs, "abs", 1e-8, "absolute tolerance of numbers")
	flags.Float64Var(&v.opts.Rel, "rel", 1e-5, "relative tolerance of numbers")
	flags.BoolVar(&v.opts.SkipTimes, "skip-times", false, "do not hold the intervals of measurements to the stored ones, which only a machine without other work repeats")
	flags.BoolVar(&v.stored, "stored", false, "only check what is stored: captures and their hashes, that pictures, drawings and pages can be shown, and that no cell failed")
	flags.StringVarP(&v.out, "output", "o", "", "write the notebook as executed now to this file")
	jsonFlag(cmd, &v.asJSON)
	return cmd
}

func (v *comparing) run(cmd *cobra.Command, path string) error {
	if v.stored && (v.out != "" || len(v.params) > 0) {
		return usageError{errors.New("--stored runs nothing: --output and --param go without it")}
	}
	nb, opts, err := v.open(cmd.Context(), path)
	if err != nil {
		return err
	}
	if v.out != "" {
		if err := checkWritable(v.out); err != nil {
			return err
		}
	}
	var report *verify.Report
	if v.stored {
		report, err = verify.Stored(nb, opts.Environment)
	} else {
		v.opts.Runner = opts
		report, err = verify.Run(cmd.Context(), nb, v.opts)
	}
	if err != nil && report == nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if report.Fresh != nil {
		err = errors.Join(err, writeOutputs(cmd, report.Fresh, v.out, ""))
	}
	if printed := printReport(cmd, report, v.asJSON); err == nil {
		return printed
	}
	return err // the report is not verified, since the run ended early
}

func printReport(cmd *cobra.Command, report *verify.Report, asJSON bool) error {
	var err error
	if asJSON {
		err = printJSON(cmd.OutOrStdout(), report)
	} else {
		err = report.Print(cmd.OutOrStdout(), terminal.Width(cmd.OutOrStdout()))
	}
	if err == nil && !report.Verified {
		return exitStatus(exitFailure)
	}
	return err
}
