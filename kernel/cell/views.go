package cell

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/script"
)

// view is one way to look at a compiled function.
type view struct {
	name string
	doc  string
	of   func(ctx context.Context, p *forge.Program) (any, error)
}

// views are the values of --show.
var views = []view{}

// defaultViews are shown of a cell that compiles.
var defaultViews = []string{}

func viewNames() []string {
	names := make([]string, len(views))
	for i, v := range views {
		names[i] = v.name
	}
	return names
}

// parseViews reads "ir,graph".
func parseViews(text string) ([]string, error) {
	var list []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(viewNames(), name) {
			return nil, fmt.Errorf("there is no view %q; there are %s", name, strings.Join(viewNames(), ", "))
		}
		list = append(list, name)
	}
	return list, nil
}

// show displays the named views of a program, in that order.
func show(ctx context.Context, p *forge.Program, names []string) error {
	for _, name := range names {
		i := slices.IndexFunc(views, func(v view) bool { return v.name == name })
		v, err := views[i].of(ctx, p)
		if err == nil {
			err = display.ShowContext(ctx, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compile compiles the entry function of a cell that says for which shapes: by
// --shapes, or by annotations of all its parameters. Otherwise it returns nil.
func (t *task) compile(file *script.File, source string, opt forgeOptions) (*forge.Program, error) {
	entry := file.Funcs[len(file.Funcs)-1]
	if opt.entry != "" {
		i := slices.IndexFunc(file.Funcs, func(f *script.Func) bool { return f.Name.Name == opt.entry })
		if i < 0 {
			return nil, fmt.Errorf("the cell defines no function %s", opt.entry)
		}
		entry = file.Funcs[i]
	}
	if _, annotated := entry.Specs(); !annotated && opt.shapes == nil {
		return nil, nil
	}
	options := []forge.Option{forge.Named(t.cell.Name), forge.Within(t.in.library), forge.Entry(entry.Name.Name)}
	if opt.shapes != nil {
		options = append(options, forge.Shapes(opt.shapes...))
	}
	return forge.Compile(source, options...)
}

// parseShapes reads "8x16,16x12,12,()": the dimensions of each input; a scalar
// is written as empty parentheses.
func parseShapes(text string) ([]forge.Shape, error) {
	var shapes []forge.Shape
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if word == "()" {
			shapes = append(shapes, forge.Shape{})
			continue
		}
		var shape forge.Shape
		for dim := range strings.SplitSeq(word, "x") {
			n, err := strconv.Atoi(dim)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("%q is not a shape", word)
			}
			shape = append(shape, n)
		}
		shapes = append(shapes, shape)
	}
	return shapes, nil
}
