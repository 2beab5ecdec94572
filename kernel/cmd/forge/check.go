package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/spf13/cobra"

	"forgekernel/forge"
	"forgekernel/forge/audit"
	"forgekernel/forge/backend/cpu"
)

// check are the flags of forge check.
type check struct {
	program
	budget, scale float64
	seed          uint64
	inputs        string
}

func checkCommand() *cobra.Command {
	var (
		c      check
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "check FILE [--shapes 8x16,16x12,12] [--budget 1e-6] [--seed N [--scale S] | --inputs FILE.npz]",
		Short: "Find the node where a program loses accuracy or overflows",
		Long: `Check runs a program in its own types and in float64 and compares every value on
the way. FILE is ForgeScript, a model, or IR text if its name ends in .ir. For each node
it tells the error that has accumulated and the one that the node adds itself,
relative to the largest element. It names the first node over the budget, and
where the first NaN or infinity comes from. The exit status is 1 if a node is
over the budget.

Inputs are standard normal times --scale. The naive softmax, exp(x)/sum(exp(x)),
passes with --scale 1 and fails with --scale 100, where exp overflows; the one
that subtracts the maximum passes both.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if err := c.validate(cmd); err != nil {
				return err
			}
			ctx, wipe := withProgress(cmd)
			report, err := c.run(ctx, args[0])
			wipe()
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = printText(cmd.OutOrStdout(), report.Text())
			}
			if err == nil && !report.OK() {
				err = exitStatus(exitFailure)
			}
			return err
		}),
	}
	c.bindingFlags(cmd)
	cmd.Flags().Float64Var(&c.budget, "budget", audit.DefaultBudget, "the largest error that a node may have")
	cmd.Flags().Uint64Var(&c.seed, "seed", 1, "seed of the pseudo-random inputs")
	cmd.Flags().Float64Var(&c.scale, "scale", 1, "factor of the pseudo-random inputs")
	cmd.Flags().StringVar(&c.inputs, "inputs", "", "an .npz archive with one array for each input, under its name")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (c *check) validate(cmd *cobra.Command) error {
	made := cmd.Flags().Changed("seed") || cmd.Flags().Changed("scale")
	switch {
	case c.inputs != "" && made:
		return usageError{errors.New("--seed and --scale make inputs and --inputs reads them: give one")}
	case !positive(c.budget):
		return usageError{fmt.Errorf("--budget: %v is not a finite number above 0", c.budget)}
	case !positive(c.scale):
		return usageError{fmt.Errorf("--scale: %v is not a finite number above 0", c.scale)}
	}
	return nil
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

func (c *check) run(ctx context.Context, path string) (*audit.Report, error) {
	c.backend, c.threads = forge.DefaultBackend, cpu.Cores()
	compiled, inputs, err := c.load(ctx, path)
	if err != nil {
		return nil, err
	}
	if inputs == nil {
		if inputs, err = compiled.ScaledInputs(c.seed, c.scale); err != nil {
			return nil, err
		}
	}
	return compiled.AuditContext(ctx, c.budget, inputs...)
}

// load compiles a file and reads its inputs, if they are in an archive, which
// then give the shapes as well.
func (c *check) load(ctx context.Context, path string) (*forge.Program, []*forge.Tensor, error) {
	if filepath.Ext(path) == ".ir" {
		if c.binds() {
			return nil, nil, errBound
		}
		c.from = path
		compiled, err := c.resume()
		if err != nil || c.inputs == "" {
			return compiled, nil, err
		}
		inputs, err := compiled.ReadInputs(c.inputs)
		return compiled, inputs, err
	}
	return c.program.load(ctx, []string{path}, c.inputs)
}
