package cell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forgekernel/forge"
	"forgekernel/forge/script"
)

// defaultViews are shown of a cell that compiles.
var defaultViews = []string{"graph", "ir"}

// compile compiles the entry function of a cell that says for which shapes: by
// --shapes, or by annotations of all its parameters. Otherwise it returns nil.
func (t *task) compile(file *script.File, source string, opt forgeOptions) (*forge.Program, error) {
	entry := file.Funcs[len(file.Funcs)-1]
	if opt.entry != "" {
		i := slices.IndexFunc(file.Funcs, func(f *script.Func) bool { return f.Name.Name == opt.entry })
		if i < 0 {
			return nil, t.usage(opt.asked, "", "the cell defines no function %s", opt.entry)
		}
		entry = file.Funcs[i]
	}
	if _, annotated := entry.Specs(); !annotated && opt.shapes == nil {
		if opt.views != nil {
			return nil, t.usage(opt.asked, "give --shapes, or annotate its parameters as in x: f32[8,16]", "%s cannot be compiled without shapes", entry.Name.Name)
		}
		return nil, nil
	}
	fns, err := forge.Define(source, append(opt.run, forge.Named(t.cell.Name), forge.Within(t.in.library))...)
	if err != nil {
		return nil, err
	}
	i := slices.Index(file.Funcs, entry)
	return fns[i].Compile(t.ctx, opt.shapes...)
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
