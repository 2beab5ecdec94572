package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/script"
)

// program are the flags of commands that compile a ForgeScript file or IR text.
type program struct {
	shapes  string
	entry   string
	backend string
	threads int
	from    string // IR text to start from in place of source
	after   string // the pass that made it
}

func (p *program) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.shapes, "shapes", "", "shapes of the inputs, such as 8x16,16x12,12 (default: those of the annotations)")
	cmd.Flags().StringVar(&p.entry, "entry", "", "the function to compile (default: the last)")
	cmd.Flags().StringVar(&p.backend, "backend", "interp", "what runs the program")
	cmd.Flags().IntVar(&p.threads, "threads", cpu.Cores(), "how many threads may share the work")
}

// tellingProgress is the context of a command, with progress shown on standard
// error: what is printed may be read by a program.
func tellingProgress(cmd *cobra.Command) context.Context {
	return display.WithSink(cmd.Context(), display.TextSink(cmd.ErrOrStderr()))
}

// define reads a file and returns its entry function.
func (p *program) define(path string) (forge.Function, []forge.Shape, error) {
	shapes, err := forge.ParseShapes(p.shapes)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("--shapes: %w", err)}
	}
	source, err := readText(path, script.MaxSource)
	if err != nil {
		return nil, nil, err
	}
	fns, err := forge.Define(source, forge.Named(path), forge.OnBackend(p.backend), forge.OnThreads(p.threads))
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

// compile specialises the entry function of the file that args name, or goes on
// from IR text.
func (p *program) compile(ctx context.Context, args []string) (*forge.Program, error) {
	if p.from != "" {
		return p.resume()
	}
	f, shapes, err := p.define(args[0])
	if err != nil {
		return nil, err
	}
	return f.Compile(ctx, shapes...)
}

// readText refuses a file that is too large before reading it whole.
func readText(path string, limit int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if info.Size() > limit {
		return "", fmt.Errorf("%s has %d bytes; it may have %d", path, info.Size(), limit)
	}
	raw, err := io.ReadAll(io.LimitReader(file, limit))
	return string(raw), err
}

func compileCommand() *cobra.Command {
	var (
		p      program
		show   string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "compile FILE [--shapes 8x16,16x12,12] | compile --from FILE.ir",
		Short: "Trace and optimise a ForgeScript program, and show every step",
		Args:  p.arguments(),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			views, err := forge.ParseViews(show)
			if err != nil {
				return usageError{fmt.Errorf("--show: %w", err)}
			}
			ctx := tellingProgress(cmd)
			compiled, err := p.compile(ctx, args)
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
				shown, err := compiled.View(ctx, name)
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
	p.resumeFlags(cmd)
	cmd.Flags().StringVar(&show, "show", "trace,ir,explain", "what to print: "+strings.Join(forge.Views(), ", "))
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
		Use:   "run FILE [--shapes 8x16,16x12,12] [--seed N | --inputs FILE.npz] | run --from FILE.ir",
		Short: "Compile a ForgeScript program and run it",
		Args:  p.arguments(),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if inputs != "" && cmd.Flags().Changed("seed") {
				return usageError{errors.New("--seed makes inputs and --inputs reads them: give one")}
			}
			report, results, err := p.run(tellingProgress(cmd), args, seed, inputs)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), report)
			}
			for i, y := range results {
				if len(results) > 1 {
					fmt.Fprintf(cmd.OutOrStdout(), "%s = ", report.Outputs[i].Name)
				}
				fmt.Fprintln(cmd.OutOrStdout(), y)
			}
			return nil
		}),
	}
	p.flags(cmd)
	p.resumeFlags(cmd)
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed of the pseudo-random inputs")
	cmd.Flags().StringVar(&inputs, "inputs", "", "an .npz archive with one array for each parameter, float32 and under its name")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) run(ctx context.Context, args []string, seed uint64, inputs string) (*forge.Report, []*forge.Tensor, error) {
	if inputs != "" && p.from == "" {
		return p.runOn(ctx, args[0], inputs)
	}
	compiled, err := p.compile(ctx, args)
	if err != nil {
		return nil, nil, err
	}
	if inputs == "" {
		return compiled.RunSeeded(ctx, seed)
	}
	tensors, err := compiled.ReadInputs(inputs)
	if err != nil {
		return nil, nil, err
	}
	return compiled.RunReport(ctx, tensors...)
}

// runOn compiles a file for the shapes of its inputs, unless others are given.
func (p *program) runOn(ctx context.Context, path, inputs string) (*forge.Report, []*forge.Tensor, error) {
	f, shapes, err := p.define(path)
	if err != nil {
		return nil, nil, err
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
