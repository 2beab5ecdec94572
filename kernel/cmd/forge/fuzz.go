package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/forge/audit/fuzz"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// fuzzable are the backends that fuzz may compare with the interpreter.
var fuzzable = []backend.Backend{cpu.New(), portable.New()}

func fuzzCommand() *cobra.Command {
	var (
		opts   fuzz.Options
		names  []string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "fuzz [--count N] [--seed S] [--backend cpu]...",
		Short: "Look for random programs that the compiler gets wrong",
		Long: `Fuzz makes random programs over all operators and compares what every pass, the
memory plan and the backends make of them with the interpreter: all backends that
can compile on this machine, or those that --backend names. A program that
fails is shrunk, and printed as ForgeScript or IR text with the command that
makes it again. The exit status is 1 if any fails.`,
		Args: noArguments,
		RunE: stoppable(func(cmd *cobra.Command, _ []string) error {
			if opts.Count < 1 {
				return usageError{fmt.Errorf("--count must be at least 1, not %d", opts.Count)}
			}
			backends, err := fuzzedBackends(cmd, names)
			if err != nil {
				return err
			}
			ctx, wipe := withProgress(cmd)
			report, stopped := runFuzz(ctx, fuzz.NewChecker(backends...), opts)
			wipe()
			if err := printFuzz(cmd.OutOrStdout(), report, asJSON); err != nil || stopped != nil {
				return errors.Join(err, stopped)
			}
			if report.Err() != nil {
				return exitStatus(exitFailure)
			}
			return nil
		}),
	}
	cmd.Flags().IntVar(&opts.Count, "count", fuzz.DefaultCount, "how many programs")
	cmd.Flags().Uint64Var(&opts.Seed, "seed", fuzz.DefaultSeed, "seed of the first program; each further one has the next")
	cmd.Flags().StringArrayVar(&names, "backend", nil, "a backend to compare with the interpreter; interp alone for none (default: all that can compile here)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// fuzzedBackends are the named ones or, without names, those that can compile on
// this machine; of the others it is said why not.
func fuzzedBackends(cmd *cobra.Command, names []string) ([]backend.Backend, error) {
	known := []string{interp.New().Name()}
	var list []backend.Backend
	for _, b := range fuzzable {
		known = append(known, b.Name())
		if len(names) > 0 && !slices.Contains(names, b.Name()) {
			continue
		}
		err := canCompile(cmd.Context(), b)
		switch {
		case err == nil:
			list = append(list, b)
		case len(names) > 0:
			return nil, err
		default:
			fmt.Fprintf(cmd.ErrOrStderr(), "not on %s: %v\n", b.Name(), err)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, usageError{fmt.Errorf("--backend: there is no backend %q; there are %s", name, strings.Join(known, ", "))}
		}
	}
	return list, nil
}

// canCompile tries a backend on a program of one node.
func canCompile(ctx context.Context, b backend.Backend) error {
	g, err := ir.Parse(op.Registry, "graph try(%x: f32[1]) {\n  %y: f32[1] = neg %x\n  return %y\n}")
	if err == nil {
		_, err = b.Compile(ctx, g)
	}
	return err
}

// runFuzz returns the report also of a run that was stopped.
func runFuzz(ctx context.Context, c *fuzz.Checker, opts fuzz.Options) (*fuzz.Report, error) {
	meter := display.Progress(ctx, "fuzzing", opts.Count)
	opts.Progress = meter.Set
	report, err := c.Run(ctx, opts)
	if err != nil {
		meter.Fail(err)
		return report, err
	}
	meter.Done()
	return report, nil
}

func printFuzz(w io.Writer, report *fuzz.Report, asJSON bool) error {
	if asJSON {
		return printJSON(w, report)
	}
	return printText(w, report.Text())
}
