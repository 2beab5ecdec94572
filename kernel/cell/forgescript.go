package cell

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/script"
	"forgekernel/kernel/gocell"
	"forgekernel/kernel/gocell/hostpkg"
	"forgekernel/kernel/link"
)

// A ForgeScript cell defines its functions twice: in the library, where other
// ForgeScript finds them, and as Go values of the same names. Everything that
// can go wrong is tried before either changes.

// forgeOptions are the flags of %%forge.
type forgeOptions struct {
	shapes []forge.Shape  // nil means the annotations
	entry  string         // empty means the last function
	run    []forge.Option // the backend and its threads
	views  []string       // nil means the setting
	asked  directive      // where they stand
}

// forgeScript runs ForgeScript code.
func (t *task) forgeScript(p parts, opt forgeOptions) Outcome {
	file, err := forge.Parse(p.body, forge.Named(t.cell.Name), forge.Within(t.in.library))
	if err == nil {
		err = goNames(file)
	}
	if err != nil {
		return Outcome{Err: err}
	}
	program, err := t.compile(file, p.body, opt)
	if err != nil {
		return Outcome{Err: err}
	}
	if err := t.in.define(t.cell.Name, p.body); err != nil {
		return Outcome{Err: err}
	}
	if program == nil {
		return shown(display.Text(summary(file)))
	}
	t.in.library.Function(program.Name()).Adopt(program)
	views := opt.views
	if views == nil {
		t.in.mu.Lock()
		views = t.in.views
		t.in.mu.Unlock()
	}
	return Outcome{Err: program.Show(t.ctx, views...)}
}

// goNames refuses functions whose names Go cells need for something else.
func goNames(file *script.File) error {
	var errs forge.Errors
	for _, f := range file.Funcs {
		if why := meaningInGo(f.Name.Name); why != "" {
			errs = append(errs, f.Diagnose(f.Name.Span, fmt.Sprintf("a function cannot be called %s, because it becomes a Go value of the same name", f.Name.Name),
				"choose another name", f.Name.Name+" "+why))
		}
	}
	if errs == nil {
		return nil
	}
	return errs
}

// meaningInGo says what a name stands for in every Go cell, if it does.
func meaningInGo(name string) string {
	if hostpkg.Predeclared(name) {
		return "is predeclared in Go"
	}
	if name == "main" || name == "init" {
		return "is a function that Go calls itself"
	}
	if path, ok := hostpkg.Known(name); ok {
		return fmt.Sprintf("is the package %q, which Go cells use without importing it", path)
	}
	return ""
}

// define adds the functions of source. When one cannot become a Go value the
// library is as it was.
func (in *Interp) define(name, source string) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	former := in.definitions()
	fns, err := in.library.Define(source, forge.Named(name))
	if err != nil {
		return err
	}
	for _, f := range fns {
		if err := in.golang.Define(f.Name(), f, f.Doc()); err != nil {
			in.forget()
			for _, d := range former {
				in.library.Define(d.Source) // was defined a moment ago
			}
			return fmt.Errorf("%s cannot become a Go value: %w", f.Name(), err)
		}
	}
	return nil
}

// forget empties the library.
func (in *Interp) forget() {
	for _, name := range in.library.Names() {
		in.library.Remove(name)
	}
}

// summary says in a line or two what a cell defined.
func summary(file *script.File) string {
	lines := make([]string, len(file.Funcs))
	for i, f := range file.Funcs {
		lines[i] = "def " + f.Signature()
	}
	return strings.Join(lines, "\n")
}

// Definitions returns the source of every ForgeScript function, in order.
func (in *Interp) Definitions() []link.Definition {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.definitions()
}

func (in *Interp) definitions() []link.Definition {
	var list []link.Definition
	for _, name := range in.library.Names() {
		list = append(list, link.Definition{Name: name, Source: in.library.Function(name).Source().Code})
	}
	return list
}

// Restore defines functions again that an earlier session held. A function may
// call one that stands later in the list, if that was redefined; so each is
// tried again as long as others succeed. The error tells of those that fail.
func (in *Interp) Restore(defs []link.Definition) error {
	for {
		var failed []link.Definition
		var errs []error
		for _, d := range defs {
			if err := in.define("restored "+d.Name, d.Source); err != nil {
				failed, errs = append(failed, d), append(errs, err)
			}
		}
		if len(failed) == 0 || len(failed) == len(defs) {
			return errors.Join(errs...)
		}
		defs = failed
	}
}

// reset forgets everything.
func (in *Interp) reset() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.golang.Reset()
	in.forget()
}

// magicForge is %%forge.
func (t *task) magicForge(c call) Outcome {
	opt := forgeOptions{entry: c.flags["entry"], asked: c.directive}
	var err error
	if s, given := c.flags["shapes"]; given {
		if opt.shapes, err = parseShapes(s); err != nil {
			return Outcome{Err: t.usage(c.directive, "such as --shapes 8x16,16x12,12", "--shapes: %v", err)}
		}
	}
	if s, given := c.flags["backend"]; given {
		if opt.run = append(opt.run, forge.OnBackend(s)); !slices.Contains(forge.Backends(), s) {
			return Outcome{Err: t.usage(c.directive, "", "--backend: there is no backend %q; there are %s", s, strings.Join(forge.Backends(), ", "))}
		}
	}
	if s, given := c.flags["threads"]; given {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > forge.MaxThreads {
			return Outcome{Err: t.usage(c.directive, "", "--threads: %q is not a number from 1 to %d", s, forge.MaxThreads)}
		}
		opt.run = append(opt.run, forge.OnThreads(n))
	}
	if s, given := c.flags["show"]; given {
		if opt.views, err = forge.ParseViews(s); err != nil {
			return Outcome{Err: t.usage(c.directive, "", "--show: %v", err)}
		}
	}
	p := c.body.inner()
	if strings.TrimSpace(p.body) == "" || p.magic != nil {
		return Outcome{Err: t.usage(c.directive, "write a function below, beginning with def", "the cell defines nothing")}
	}
	if out := t.run(parts{directives: p.directives}); out.Err != nil {
		return out
	}
	return t.forgeScript(p, opt)
}

func forgeFlags() []flag {
	return []flag{
		{name: "shapes", value: "SHAPES", doc: "compile for inputs of these shapes, such as 8x16,16x12,12"},
		{name: "show", value: "VIEWS", values: forge.Views(), doc: "what to show: " + strings.Join(forge.Views(), ", ") + ", separated by commas"},
		{name: "backend", value: "NAME", values: forge.Backends(), doc: "what runs the program that is shown: " + strings.Join(forge.Backends(), ", ")},
		{name: "threads", value: "N", doc: "how many threads may share the work of the program that is shown"},
		{name: "entry", value: "NAME", doc: "the function to compile; the last one if not given"},
	}
}

func (in *Interp) completeForgeScript(source string, offset int) completion {
	list, start, end := script.Completions(source, pointOffset(source, offset), in.library)
	c := completion{start: byteOffset(source, start), end: byteOffset(source, end)}
	for _, m := range list {
		c.matches = append(c.matches, link.Match{Text: m.Text, Type: m.Kind, Signature: m.Signature})
	}
	return c
}

func (in *Interp) inspectForgeScript(name string) (gocell.Inspection, bool) {
	i, found := script.Inspect(name, in.library)
	return gocell.Inspection{Signature: i.Signature, Doc: i.Doc, Source: i.Source, Defined: "ForgeScript"}, found
}
