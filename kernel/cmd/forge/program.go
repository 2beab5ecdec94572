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
			ctx, wipe := withProgress(cmd)
			compiled, err := p.compile(ctx, args)
			wipe()
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
				wipe()
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
		source bool
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
			if source && asJSON {
				return usageError{errors.New("--emit-source prints text and --json a document: give one")}
			}
			ctx, wipe := withProgress(cmd)
			defer wipe()
			compiled, tensors, err := p.load(ctx, args, inputs)
			if err != nil {
				return err
			}
			if source {
				wipe()
				code, err := compiled.Generated()
				if err != nil {
					return fmt.Errorf("--emit-source: %w", err)
				}
				fmt.Fprintln(cmd.OutOrStdout(), code.Code)
			}
			report, results, err := runLoaded(ctx, compiled, tensors, seed)
			wipe()
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
	cmd.Flags().BoolVar(&source, "emit-source", false, "print the code that the backend generates first")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// load compiles a program and reads its inputs, if a file has them.
func (p *program) load(ctx context.Context, args []string, inputs string) (*forge.Program, []*forge.Tensor, error) {
	if inputs != "" && p.from == "" {
		return p.loadFor(ctx, args[0], inputs)
	}
	compiled, err := p.compile(ctx, args)
	if err != nil || inputs == "" {
		return compiled, nil, err
	}
	tensors, err := compiled.ReadInputs(inputs)
	return compiled, tensors, err
}

// loadFor compiles a file for the shapes of its inputs, unless others are given.
func (p *program) loadFor(ctx context.Context, path, inputs string) (*forge.Program, []*forge.Tensor, error) {
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
	return compiled, tensors, err
}

// runLoaded runs a program on its inputs, or on those of a seed.
func runLoaded(ctx context.Context, p *forge.Program, inputs []*forge.Tensor, seed uint64) (*forge.Report, []*forge.Tensor, error) {
	if inputs == nil {
		return p.RunSeeded(ctx, seed)
	}
	return p.RunReport(ctx, inputs...)
}
