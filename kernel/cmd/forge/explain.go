package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"forgekernel/forge"
	"forgekernel/forge/textfile"
	"forgekernel/kernel/notebook/terminal"
	"forgekernel/kernel/replace"
)

// form is one way to write an explanation.
type form struct {
	name, doc string
	write     func(io.Writer, *forge.Explanation, bool) error
}

var forms = []form{
	{"text", "a report for the terminal (the default)", func(w io.Writer, e *forge.Explanation, colour bool) error {
		_, err := io.WriteString(w, e.TextWithin(terminal.Width(w), colour))
		return err
	}},
	{"json", "JSON for a program to read, without the values of tensors", func(w io.Writer, e *forge.Explanation, _ bool) error {
		return printJSON(w, e)
	}},
	{"mermaid", "the optimised graph as a Mermaid diagram", func(w io.Writer, e *forge.Explanation, _ bool) error {
		_, err := fmt.Fprintln(w, strings.TrimRight(e.Mermaid(), "\n"))
		return err
	}},
	{"html", "a page with the passes side by side, to explore in a browser", func(w io.Writer, e *forge.Explanation, _ bool) error {
		_, err := io.WriteString(w, e.HTML())
		return err
	}},
}

func explainCommand() *cobra.Command {
	var (
		p      program
		out    string
		chosen = make([]bool, len(forms))
	)
	cmd := &cobra.Command{
		Use:   "explain FILE [--text|--json|--mermaid|--html] [--shapes 8x16,16x12,12] [-o OUT]",
		Short: "Show everything that the compiler decided about a program, and why",
		Args:  p.arguments(),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			form, err := chosenForm(chosen)
			if err != nil {
				return err
			}
			compiled, err := p.compile(cmd.Context(), args)
			if err != nil {
				return err
			}
			explanation, err := compiled.Explanation()
			if err != nil {
				return err
			}
			return writeTo(cmd, out, func(w io.Writer) error { return form.write(w, explanation, terminal.IsScreen(w)) })
		}),
	}
	p.flags(cmd)
	p.resumeFlags(cmd)
	for i, f := range forms {
		cmd.Flags().BoolVar(&chosen[i], f.name, false, f.doc)
	}
	outputFlag(cmd, &out)
	return cmd
}

// chosenForm is the form whose flag is set, the first without any.
func chosenForm(chosen []bool) (form, error) {
	f, found := forms[0], ""
	for i, set := range chosen {
		switch {
		case set && found != "":
			return form{}, usageError{fmt.Errorf("--%s and --%s are two forms: give one", found, forms[i].name)}
		case set:
			f, found = forms[i], forms[i].name
		}
	}
	return f, nil
}

func dumpCommand() *cobra.Command {
	var (
		p          program
		after, out string
	)
	cmd := &cobra.Command{
		Use:   "dump FILE --after PASS [--shapes 8x16,16x12,12] [-o OUT.ir]",
		Short: "Write the program after a pass as IR text, to read, edit and compile --from",
		Args:  oneArgument("FILE"),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			switch {
			case after == "":
				return usageError{fmt.Errorf("--after says what to dump the program after: %s", strings.Join(stages(), ", "))}
			case !slices.Contains(stages(), after):
				return usageError{fmt.Errorf("--after: there is no pass %q; there are %s", after, strings.Join(stages(), ", "))}
			}
			compiled, err := p.compile(cmd.Context(), args)
			if err != nil {
				return err
			}
			text, err := compiled.Dump(after)
			if err != nil {
				return err
			}
			return writeTo(cmd, out, func(w io.Writer) error {
				_, err := io.WriteString(w, text)
				return err
			})
		}),
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&after, "after", "", "the pass, or trace for the program as written")
	outputFlag(cmd, &out)
	return cmd
}

// stages are what a program can be dumped after.
func stages() []string { return append([]string{"trace"}, forge.Passes()...) }

func outputFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVarP(into, "output", "o", "", "write to this file instead of standard output")
}

// writeTo writes to standard output or, whole or not at all, to a file.
func writeTo(cmd *cobra.Command, path string, write func(io.Writer) error) error {
	if path == "" {
		return write(cmd.OutOrStdout())
	}
	return replace.File(path, write)
}

// resumeFlags let a command start from IR text in place of a source file.
func (p *program) resumeFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.from, "from", "", "start from this IR text, as dump writes it, in place of FILE")
	cmd.Flags().StringVar(&p.after, "after", "", "the pass that made the IR text (default: the one that its first line names)")
}

// checkBackend refuses a backend that is not on this host, and says what a host without
// the one it names lacks.
func checkBackend(name string) error {
	if slices.Contains(forge.Backends(), name) {
		return nil
	}
	_, err := forge.NewBackend(name, 1)
	if err == nil { // "cuda:1"
		return nil
	}
	return usageError{fmt.Errorf("--backend: %w", err)}
}

// arguments demands FILE, or --from in its place.
func (p *program) arguments() cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := checkBackend(p.backend); err != nil {
			return err
		}
		switch {
		case p.threads < 1 || p.threads > forge.MaxThreads:
			return usageError{fmt.Errorf("--threads: a program runs on 1 to %d, not on %d", forge.MaxThreads, p.threads)}
		case p.from == "":
			if p.after != "" {
				return usageError{errors.New("--after says what --from starts after: give both")}
			}
			return oneArgument("FILE")(cmd, args)
		case len(args) > 0:
			return usageError{fmt.Errorf("FILE and --from are both what to compile: give %s or %s", args[0], p.from)}
		case p.binds():
			return errBound
		case p.after != "" && !slices.Contains(stages(), p.after):
			return usageError{fmt.Errorf("--after: there is no pass %q; there are %s", p.after, strings.Join(stages(), ", "))}
		}
		return nil
	}
}

// resume compiles IR text from where it stands.
func (p *program) resume() (*forge.Program, error) {
	text, err := textfile.Read(p.from, forge.MaxIR)
	if err != nil {
		return nil, err
	}
	opts := append(p.options(), forge.Named(p.from))
	if p.after != "" {
		opts = append(opts, forge.After(p.after))
	}
	return forge.FromIR(string(text), opts...)
}
