package cell

import (
	"fmt"
	"go/token"
	"strings"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/script"
	"forgekernel/kernel/gocell"
	"forgekernel/kernel/link"
)

// A ForgeScript cell defines its functions twice: in the library, where other
// ForgeScript finds them, and as Go values of the same names. Everything that
// can go wrong is tried before either changes.

// forgeOptions are the flags of %%forge.
type forgeOptions struct {
	shapes []forge.Shape // nil means the annotations
	entry  string        // empty means the last function
	views  []string      // nil means the setting
	// explicit says that views were asked for, so that there must be a program.
	explicit bool
}

// forgeScript runs ForgeScript code.
func (t *task) forgeScript(p parts, opt forgeOptions) Outcome {
	file, err := t.in.check(t.cell.Name, p.body)
	if err != nil {
		return Outcome{Err: err}
	}
	program, err := t.compile(file, p.body, opt)
	if err != nil {
		return Outcome{Err: err}
	}
	if err := t.in.define(t.cell.Name, p.body, file); err != nil {
		return Outcome{Err: err}
	}
	if program == nil {
		return shown(display.Text(summary(file)))
	}
	views := opt.views
	if views == nil {
		t.in.mu.Lock()
		views = t.in.views
		t.in.mu.Unlock()
	}
	return Outcome{Err: program.Show(t.ctx, views...)}
}

// check parses source and refuses names that could not become Go values.
func (in *Interp) check(name, source string) (*script.File, error) {
	file, err := forge.Parse(source, forge.Named(name), forge.Within(in.library))
	if err != nil {
		return nil, err
	}
	for _, f := range file.Funcs {
		if id := f.Name.Name; !token.IsIdentifier(id) || id == "_" {
			pos := f.Pos()
			return nil, forge.Errors{{
				Source: name, Line: pos.Line, Col: pos.Col, EndCol: pos.Col + len([]rune(id)), Text: file.Source.Line(pos.Line),
				Message: fmt.Sprintf("%s cannot name a function here, because Go cells could not call it", id),
				Hint:    "choose another name",
			}}
		}
	}
	return file, nil
}

// define adds the functions of source, which check has accepted.
func (in *Interp) define(name, source string, file *script.File) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	fns, err := in.library.Define(source, forge.Named(name))
	if err != nil {
		return err
	}
	for _, f := range fns {
		if err := in.golang.Define(f.Name(), f, f.Doc()); err != nil {
			return fmt.Errorf("%s cannot become a Go value: %w", f.Name(), err)
		}
	}
	return nil
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
	var list []link.Definition
	for _, name := range in.library.Names() {
		list = append(list, link.Definition{Name: name, Source: in.library.Function(name).Source().Code})
	}
	return list
}

// Restore defines functions again that an earlier session held. They are given
// at once, since they may call one another whatever their order is.
func (in *Interp) Restore(defs []link.Definition) error {
	if len(defs) == 0 {
		return nil
	}
	var source strings.Builder
	for _, d := range defs {
		source.WriteString(d.Source + "\n\n")
	}
	file, err := in.check("restored definitions", source.String())
	if err != nil {
		return err
	}
	return in.define("restored definitions", source.String(), file)
}

// reset forgets everything.
func (in *Interp) reset() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.golang.Reset()
	for _, name := range in.library.Names() {
		in.library.Remove(name)
	}
}

// magicForge is %%forge.
func (t *task) magicForge(c call) Outcome {
	opt := forgeOptions{entry: c.flags["entry"]}
	var err error
	if s, given := c.flags["shapes"]; given {
		if opt.shapes, err = parseShapes(s); err != nil {
			return Outcome{Err: t.usage(c.directive, "such as --shapes 8x16,16x12,12", "--shapes: %v", err)}
		}
	}
	if s, given := c.flags["show"]; given {
		opt.explicit = true
		if opt.views, err = forge.ParseViews(s); err != nil {
			return Outcome{Err: t.usage(c.directive, "", "--show: %v", err)}
		}
	}
	p := c.body.inner()
	code := p
	p.body = ""
	if out := t.run(p); out.Err != nil || p.magic != nil {
		return out
	}
	if strings.TrimSpace(code.body) == "" {
		return Outcome{Err: t.usage(c.directive, "write a function below, beginning with def", "the cell defines nothing")}
	}
	return t.forgeScript(code, opt)
}

func forgeFlags() []flag {
	return []flag{
		{name: "shapes", value: "SHAPES", doc: "compile for inputs of these shapes, such as 8x16,16x12,12"},
		{name: "show", value: "VIEWS", values: forge.Views(), doc: "what to show: " + strings.Join(forge.Views(), ", ") + ", separated by commas"},
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
