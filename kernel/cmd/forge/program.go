package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/script"
)

// program are the flags of commands that compile a ForgeScript file.
type program struct {
	shapes  string
	entry   string
	backend string
}

func (p *program) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.shapes, "shapes", "", "shapes of the inputs, such as 8x16,16x12,12 (default: those of the annotations)")
	cmd.Flags().StringVar(&p.entry, "entry", "", "the function to compile (default: the last)")
	cmd.Flags().StringVar(&p.backend, "backend", "interp", "what runs the program")
}

// define reads a file and returns its entry function.
func (p *program) define(path string) (forge.Function, []forge.Shape, error) {
	shapes, err := forge.ParseShapes(p.shapes)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("--shapes: %w", err)}
	}
	source, err := readSource(path)
	if err != nil {
		return nil, nil, err
	}
	fns, err := forge.Define(source, forge.Named(path), forge.OnBackend(p.backend))
	if err != nil {
		return nil, nil, err
	}
	if p.entry == "" {
		return fns[len(fns)-1], shapes, nil
	}
	for _, f := range fns {
		if f.Name() == p.entry {
			return f, shapes, nil
		}
	}
	return nil, nil, usageError{fmt.Errorf("--entry: %s defines no function %q", path, p.entry)}
}

// compile specialises the entry function of a file.
func (p *program) compile(ctx context.Context, path string) (*forge.Program, error) {
	f, shapes, err := p.define(path)
	if err != nil {
		return nil, err
	}
	return f.Compile(ctx, shapes...)
}

// readSource refuses a file that cannot be a program before reading it whole.
func readSource(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if limit := int64(script.MaxSource); info.Size() > limit {
		return "", fmt.Errorf("%s has %d bytes; ForgeScript source may have %d", path, info.Size(), limit)
	}
	raw, err := os.ReadFile(path)
	return string(raw), err
}

func compileCommand() *cobra.Command {
	var (
		p      program
		show   string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "compile FILE [--shapes 8x16,16x12,12]",
		Short: "Trace and optimise a ForgeScript program, and show every step",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			views, err := forge.ParseViews(show)
			if err != nil {
				return usageError{fmt.Errorf("--show: %w", err)}
			}
			compiled, err := p.compile(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				report, err := compiled.Report()
				if err != nil {
					return err
				}
				return printJSON(cmd.OutOrStdout(), report)
			}
			for _, name := range views {
				shown, err := compiled.View(cmd.Context(), name)
				if err != nil {
					return err
				}
				text, _ := display.ToBundle(shown).Data["text/plain"].(string)
				fmt.Fprintf(cmd.OutOrStdout(), "── %s ──\n%s\n\n", name, text)
			}
			return nil
		}),
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&show, "show", "trace,ir,passes,explain", "what to print")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func runCommand() *cobra.Command {
	var (
		p      program
		seed   uint64
		inputs string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "run FILE [--shapes 8x16,16x12,12] [--seed N | --inputs FILE.npz]",
		Short: "Compile a ForgeScript program and run it",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if inputs != "" && cmd.Flags().Changed("seed") {
				return usageError{errors.New("--seed makes inputs and --inputs reads them: give one")}
			}
			report, result, err := p.run(cmd.Context(), args[0], seed, inputs)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), report)
			}
			fmt.Fprintln(cmd.OutOrStdout(), result)
			return nil
		}),
	}
	p.flags(cmd)
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed of the pseudo-random inputs")
	cmd.Flags().StringVar(&inputs, "inputs", "", "an .npz archive with one array for each parameter")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) run(ctx context.Context, path string, seed uint64, inputs string) (*forge.Report, *forge.Tensor, error) {
	f, shapes, err := p.define(path)
	if err != nil {
		return nil, nil, err
	}
	if inputs == "" {
		compiled, err := f.Compile(ctx, shapes...)
		if err != nil {
			return nil, nil, err
		}
		return compiled.RunSeeded(ctx, seed)
	}
	tensors, err := f.ReadInputs(inputs)
	if err != nil {
		return nil, nil, err
	}
	if shapes == nil {
		for _, t := range tensors {
			shapes = append(shapes, t.Shape())
		}
	}
	compiled, err := f.Compile(ctx, shapes...)
	if err != nil {
		return nil, nil, err
	}
	return compiled.RunReport(ctx, tensors...)
}
