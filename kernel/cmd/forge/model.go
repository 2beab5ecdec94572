package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"forgekernel/forge"
	"forgekernel/forge/importer"
	"forgekernel/forge/tensor"
	"forgekernel/kernel/replace"
)

// errBound is that of flags that IR text leaves nothing to do for.
var errBound = usageError{errors.New("--shapes, --dim, --value and --entry are for files; IR text is one program with its shapes")}

// binds reports whether any flag says what of a file to compile.
func (p *program) binds() bool {
	return p.shapes != "" || p.entry != "" || len(p.dims) > 0 || len(p.values) > 0
}

// loadModel compiles a model for what the flags and its inputs, if they are in an
// archive, settle.
func (p *program) loadModel(ctx context.Context, path, inputs string) (*forge.Program, []*forge.Tensor, error) {
	if p.entry != "" {
		return nil, nil, usageError{fmt.Errorf("--entry is for ForgeScript; %s is one program", path)}
	}
	m, err := forge.Open(path, p.options()...)
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	var given map[string]*forge.Tensor
	if inputs != "" {
		if given, err = forge.ReadNPZ(inputs); err != nil {
			return nil, nil, err
		}
	}
	b, err := p.binding(m, given)
	if err != nil {
		return nil, nil, err
	}
	compiled, err := m.Compile(ctx, b)
	if err != nil {
		return nil, nil, p.withFlags(err)
	}
	if err := p.checkValues(compiled); err != nil || inputs == "" {
		return compiled, nil, err
	}
	tensors, err := compiled.Arguments(b.Values)
	return compiled, tensors, err
}

// binding is what the flags say, together with tensors for the inputs.
func (p *program) binding(m *forge.Model, given map[string]*forge.Tensor) (b forge.Binding, err error) {
	b = forge.Binding{Values: make(map[string]*forge.Tensor)}
	for name, t := range given {
		b.Values[name] = t
	}
	names := make([]string, len(m.Inputs()))
	for i, in := range m.Inputs() {
		names[i] = in.Name
	}
	if b.Shapes, err = shapesByName(p.shapes, names); err != nil {
		return b, err
	}
	if b.Dims, err = parseDims(p.dims); err != nil {
		return b, err
	}
	for _, text := range p.values {
		name, t, err := parseValue(text, m.Inputs())
		if err != nil {
			return b, usageError{fmt.Errorf("--value: %w", err)}
		}
		if b.Values[name] != nil {
			return b, usageError{fmt.Errorf("--value: %s has a value already", name)}
		}
		b.Values[name] = t
	}
	return b, nil
}

// checkValues refuses a value for an input that the program reads when it runs.
func (p *program) checkValues(compiled *forge.Program) error {
	for _, text := range p.values {
		name, _, _ := cutLast(text)
		if !slices.ContainsFunc(compiled.Bound(), func(b forge.Bound) bool { return b.Input == name }) {
			return usageError{fmt.Errorf("--value: %s does not act as an attribute, so the program reads it when it runs: put it into an archive for --inputs", name)}
		}
	}
	return nil
}

// cutLast splits NAME=TEXT; names of models may hold anything.
func cutLast(text string) (name, value string, ok bool) {
	i := strings.LastIndexByte(text, '=')
	if i < 1 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

// shapesByName reads --shapes for inputs of these names.
func shapesByName(text string, names []string) (map[string][]int, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	shapes := make(map[string][]int)
	if !strings.Contains(text, "=") {
		list, err := forge.ParseShapes(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--shapes: %w", err)}
		}
		if len(list) != len(names) {
			return nil, usageError{fmt.Errorf("--shapes: there are %d inputs, %s; got %d shapes", len(names), strings.Join(names, ", "), len(list))}
		}
		for i, s := range list {
			shapes[names[i]] = s
		}
		return shapes, nil
	}
	for _, part := range strings.Split(text, ",") {
		name, shape, ok := cutLast(strings.TrimSpace(part))
		list, err := forge.ParseShapes(shape)
		switch {
		case !ok:
			return nil, usageError{fmt.Errorf("--shapes: %q is not NAME=SHAPE: give all shapes by name, or all in order", part)}
		case err != nil:
			return nil, usageError{fmt.Errorf("--shapes: %s: %w", name, err)}
		case len(list) != 1:
			return nil, usageError{fmt.Errorf("--shapes: %s has no shape", name)}
		case !slices.Contains(names, name):
			return nil, usageError{fmt.Errorf("--shapes: there is no input %q; there are %s", name, strings.Join(names, ", "))}
		case shapes[name] != nil:
			return nil, usageError{fmt.Errorf("--shapes: %s has two shapes", name)}
		}
		shapes[name] = list[0]
	}
	return shapes, nil
}

// shapesInOrder reads --shapes for a function, whose parameters all need one.
func shapesInOrder(text string, params []string) ([]forge.Shape, error) {
	if !strings.Contains(text, "=") {
		shapes, err := forge.ParseShapes(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--shapes: %w", err)}
		}
		return shapes, nil
	}
	byName, err := shapesByName(text, params)
	if err != nil {
		return nil, err
	}
	shapes := make([]forge.Shape, len(params))
	for i, name := range params {
		if shapes[i] = byName[name]; shapes[i] == nil {
			return nil, usageError{fmt.Errorf("--shapes: %s has none; give one for each of %s", name, strings.Join(params, ", "))}
		}
	}
	return shapes, nil
}

// parseDims reads --dim.
func parseDims(list []string) (map[string]int, error) {
	dims := make(map[string]int)
	for _, text := range list {
		name, length, ok := cutLast(text)
		n, err := strconv.Atoi(length)
		switch {
		case ok && err == nil && n < 1:
			return nil, usageError{fmt.Errorf("--dim: %s has the length %d; it must be at least 1", name, n)}
		case !ok || err != nil:
			return nil, usageError{fmt.Errorf("--dim: %q is not NAME=LENGTH, such as batch=4", text)}
		case dims[name] != 0:
			return nil, usageError{fmt.Errorf("--dim: %s has two lengths", name)}
		}
		dims[name] = n
	}
	return dims, nil
}

// parseValue reads one --value: a scalar, or the elements of a vector.
func parseValue(text string, inputs []forge.ModelInput) (string, *forge.Tensor, error) {
	name, list, ok := cutLast(text)
	i := slices.IndexFunc(inputs, func(in forge.ModelInput) bool { return in.Name == name })
	switch {
	case !ok:
		return "", nil, fmt.Errorf("%q is not NAME=NUMBER or NAME=NUMBER,NUMBER", text)
	case i < 0:
		return "", nil, fmt.Errorf("there is no input %q", name)
	case inputs[i].Ranked && len(inputs[i].Dims) > 1:
		return "", nil, fmt.Errorf("%v is not a list of numbers: put it into an archive for --inputs", inputs[i])
	}
	parts := strings.Split(list, ",")
	shape := []int{len(parts)}
	if len(parts) == 1 && len(inputs[i].Dims) == 0 {
		shape = nil
	}
	t, err := tensor.Zeros(inputs[i].DType, shape...)
	if err != nil {
		return "", nil, err
	}
	for k, part := range parts {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %q is not a number", name, part)
		}
		if t.SetElem(k, v); t.Elem(k) != v {
			return "", nil, fmt.Errorf("%s: %v is not a value of %v", name, v, t.DType())
		}
	}
	return name, t, nil
}

// withFlags says which flags of the command settle what an error of a model found open.
func (p *program) withFlags(err error) error {
	var call *forge.CallError
	var open *importer.OpenError
	var need interface{ Needs() string }
	if !errors.As(err, &call) {
		return err
	}
	told := *call
	reads := p.command.Flags().Lookup("inputs") != nil
	switch {
	case errors.As(err, &open):
		told.Hint = "bind it, as with " + exampleFlags(open)
		if reads {
			told.Hint += ", or give the inputs with --inputs FILE.npz"
		}
	case errors.As(err, &need) && need.Needs() != "":
		told.Hint = fmt.Sprintf("give it with --value %s=N", shellWord(need.Needs()))
		if reads {
			told.Hint += " or in --inputs FILE.npz"
		}
	}
	return &told
}

// exampleFlags are flags that settle everything that is open.
func exampleFlags(open *importer.OpenError) string {
	var flags, shapes []string
	for _, name := range open.Symbols() {
		flags = append(flags, "--dim "+shellWord(name)+"=1")
	}
	for _, in := range open.Unnamed() {
		shapes = append(shapes, shellWord(in.Name)+"="+exampleShape(in))
	}
	if shapes != nil {
		flags = append(flags, "--shapes "+strings.Join(shapes, ","))
	}
	return strings.Join(flags, " ")
}

// exampleShape is a shape that an input can have: 1 for what is open.
func exampleShape(in forge.ModelInput) string {
	if !in.Ranked {
		return "1x1"
	}
	parts := make([]string, len(in.Dims))
	for i, d := range in.Dims {
		parts[i] = strconv.Itoa(max(d.Size, 1))
	}
	return strings.Join(parts, "x")
}

// shellWord quotes what a shell would take apart.
func shellWord(s string) string {
	if strings.ContainsAny(s, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// writeResults stores results under their names, whole or not at all.
func writeResults(path string, report *forge.Report, results []*forge.Tensor) error {
	if path == "" {
		return nil
	}
	named := make([]tensor.Named, len(results))
	for i, y := range results {
		named[i] = tensor.Named{Name: report.Outputs[i].Name, Tensor: y}
	}
	return replace.File(path, func(w io.Writer) error { return tensor.WriteNPZ(w, named) })
}
