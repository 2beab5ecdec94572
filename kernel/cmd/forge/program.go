package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/script"
	"forgekernel/forge/textfile"
)

// program are the flags of commands that compile a file or IR text.
type program struct {
	shapes  string
	dims    []string // lengths of open dimensions of a model, NAME=N
	values  []string // inputs of a model that act as attributes, NAME=V,V
	entry   string
	backend string
	threads int
	from    string // IR text to start from in place of source
	after   string // the pass that made it
	command *cobra.Command
}

func (p *program) flags(cmd *cobra.Command) {
	p.bindingFlags(cmd)
	cmd.Flags().StringVar(&p.backend, "backend", forge.DefaultBackend, "what runs the program: "+strings.Join(forge.Backends(), ", "))
	cmd.Flags().IntVar(&p.threads, "threads", cpu.Cores(), "how many threads may share the work")
}

// bindingFlags say what of a file to compile, and for which sizes.
func (p *program) bindingFlags(cmd *cobra.Command) {
	p.command = cmd
	cmd.Flags().Var((*shapesFlag)(&p.shapes), "shapes", "shapes of the inputs in order, such as 8x16,16x12,12, or by name, such as x=8x16,w=16x12 (default: those of the file)")
	cmd.Flags().StringArrayVar(&p.dims, "dim", nil, "length of a dimension that a model leaves open, such as batch=4; repeat for more")
	cmd.Flags().StringArrayVar(&p.values, "value", nil, "value of an input of a model that acts as an attribute, such as sr=16000 or pads=0,1; repeat for more")
	cmd.Flags().StringVar(&p.entry, "entry", "", "the function of a ForgeScript file to compile (default: the last)")
}

// shapesFlag is what --shapes says; given again, it says more.
type shapesFlag string

func (s *shapesFlag) String() string { return string(*s) }
func (s *shapesFlag) Type() string   { return "string" }

func (s *shapesFlag) Set(text string) error {
	if *s != "" {
		text = string(*s) + "," + text
	}
	*s = shapesFlag(text)
	return nil
}

// options are those of compiling a file.
func (p *program) options() []forge.Option {
	return []forge.Option{forge.OnBackend(p.backend), forge.OnThreads(p.threads)}
}

// define reads a file and returns its entry function.
func (p *program) define(path string) (forge.Function, []forge.Shape, error) {
	if len(p.dims) > 0 || len(p.values) > 0 {
		return nil, nil, usageError{fmt.Errorf("--dim and --value are for imported models; %s is ForgeScript, which takes --shapes", path)}
	}
	source, err := textfile.Read(path, script.MaxSource)
	if errors.Is(err, textfile.ErrLarge) {
		err = fmt.Errorf("%w (a model file is named .onnx or .pt2)", err)
	}
	if err != nil {
		return nil, nil, err
	}
	fns, err := forge.Define(string(source), append(p.options(), forge.Named(path))...)
	if err != nil {
		return nil, nil, err
	}
	f, err := p.entryOf(path, fns)
	if err != nil {
		return nil, nil, err
	}
	shapes, err := shapesInOrder(p.shapes, f.Params())
	return f, shapes, err
}

func (p *program) entryOf(path string, fns []forge.Function) (forge.Function, error) {
	if p.entry == "" {
		return fns[len(fns)-1], nil
	}
	for _, f := range fns {
		if f.Name() == p.entry {
			return f, nil
		}
	}
	return nil, usageError{fmt.Errorf("--entry: %s defines no function %q", path, p.entry)}
}

// compile specialises the entry function of the file that args name, or goes on
// from IR text.
func (p *program) compile(ctx context.Context, args []string) (*forge.Program, error) {
	compiled, _, err := p.load(ctx, args, "")
	return compiled, err
}

func compileCommand() *cobra.Command {
	var (
		p      program
		show   string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "compile FILE [--shapes 8x16,16x12,12] | compile --from FILE.ir",
		Short: "Trace and optimise a ForgeScript program or a model file, and show every step",
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
				if err := printText(cmd.OutOrStdout(), fmt.Sprintf("── %s ──\n%s\n\n", name, text)); err != nil {
					return err
				}
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
		p       program
		seed    uint64
		inputs  string
		outputs string
		source  bool
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "run FILE [--shapes 8x16,16x12,12] [--seed N | --inputs FILE.npz] [--outputs FILE.npz] | run --from FILE.ir",
		Short: "Compile a ForgeScript program or a model file and run it",
		Args:  p.arguments(),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if inputs != "" && cmd.Flags().Changed("seed") {
				return usageError{errors.New("--seed makes inputs and --inputs reads them: give one")}
			}
			if source && asJSON {
				return usageError{errors.New("--emit-source prints text and --json a document: give one")}
			}
			if outputs != "" {
				if err := checkWritable(outputs); err != nil {
					return fmt.Errorf("--outputs: %w", err)
				}
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
			if err := writeResults(outputs, report, results); err != nil {
				return err
			}
			if cmd.Flags().Changed("backend") {
				for _, note := range report.Notes {
					fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
				}
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
	cmd.Flags().StringVar(&inputs, "inputs", "", "an .npz archive with one array for each input, under its name")
	cmd.Flags().StringVar(&outputs, "outputs", "", "write the results to this .npz archive, by name")
	cmd.Flags().BoolVar(&source, "emit-source", false, "print the code that the backend generates first")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// load compiles a program and reads its inputs, if a file has them.
func (p *program) load(ctx context.Context, args []string, inputs string) (*forge.Program, []*forge.Tensor, error) {
	switch {
	case p.from == "" && forge.IsModel(args[0]):
		return p.loadModel(ctx, args[0], inputs)
	case p.from == "":
		return p.loadSource(ctx, args[0], inputs)
	}
	compiled, err := p.resume()
	if err != nil || inputs == "" {
		return compiled, nil, err
	}
	tensors, err := compiled.ReadInputs(inputs)
	return compiled, tensors, err
}

// loadSource compiles ForgeScript for the shapes of its inputs, unless others are
// given.
func (p *program) loadSource(ctx context.Context, path, inputs string) (*forge.Program, []*forge.Tensor, error) {
	f, shapes, err := p.define(path)
	if err != nil {
		return nil, nil, err
	}
	var tensors []*forge.Tensor
	if inputs != "" {
		if tensors, err = f.ReadInputs(inputs); err != nil {
			return nil, nil, err
		}
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
