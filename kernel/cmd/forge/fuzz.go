package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/forge/audit/fuzz"
)

func fuzzCommand() *cobra.Command {
	var (
		opts   fuzz.Options
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "fuzz [--count N] [--seed S]",
		Short: "Look for random programs that the compiler gets wrong",
		Long: `Fuzz makes random programs over all operators and compares what every pass, the
memory plan and the backends make of them with the interpreter. A program that
fails is shrunk, and printed as ForgeScript or IR text with the command that
makes it again. The exit status is 1 if any fails.`,
		Args: arguments(cobra.NoArgs),
		RunE: stoppable(func(cmd *cobra.Command, _ []string) error {
			if opts.Count < 1 {
				return usageError{fmt.Errorf("--count: %d programs are none", opts.Count)}
			}
			ctx, wipe := withProgress(cmd)
			report, stopped := runFuzz(ctx, opts)
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
	jsonFlag(cmd, &asJSON)
	return cmd
}

// runFuzz returns the report also of a run that was stopped.
func runFuzz(ctx context.Context, opts fuzz.Options) (*fuzz.Report, error) {
	meter := display.Progress(ctx, "fuzzing", opts.Count)
	opts.Progress = meter.Set
	report, err := fuzz.NewChecker().Run(ctx, opts)
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
	_, err := io.WriteString(w, report.Text())
	return err
}
