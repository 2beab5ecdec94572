package forge

import (
	"context"
	"fmt"
	"path/filepath"

	"forgekernel/forge/importer"
	"forgekernel/forge/ir"
	"forgekernel/forge/script"
	"forgekernel/forge/tensor"
	"forgekernel/forge/textfile"
)

// scriptFile is the entry function of a ForgeScript file.
type scriptFile struct {
	name string
	fn   *function
}

func openScript(path string, s settings) (modelFile, error) {
	source, err := textfile.Read(path, script.MaxSource)
	if err != nil {
		return nil, err
	}
	s.name = path
	fn, err := define(string(source), []Option{func(to *settings) { *to = s }})
	if err != nil {
		return nil, err
	}
	return &scriptFile{name: filepath.Base(path), fn: fn.state()}, nil
}

func (f *scriptFile) Name() string     { return f.name }
func (f *scriptFile) Format() string   { return "ForgeScript, " + f.fn.src.Signature() }
func (f *scriptFile) Close() error     { return nil }
func (f *scriptFile) programs() *cache { return &f.fn.programs }

// Operators counts nothing: what a function becomes depends on its shapes.
func (f *scriptFile) Operators() map[string]int { return nil }

// Inputs are the parameters. The shape of an annotation is what a parameter has
// when a binding says nothing of it.
func (f *scriptFile) Inputs() []ModelInput {
	list := make([]ModelInput, len(f.fn.src.Params))
	for i, p := range f.fn.src.Params {
		list[i] = ModelInput{Name: p.Name.Name, DType: tensor.F32}
	}
	return list
}

// Outputs names the results, which have no names in ForgeScript.
func (f *scriptFile) Outputs() []string {
	if len(f.fn.src.Return) == 1 {
		return []string{"result"}
	}
	list := make([]string, len(f.fn.src.Return))
	for i := range list {
		list[i] = fmt.Sprint("result", i+1)
	}
	return list
}

func (f *scriptFile) program(ctx context.Context, b Binding) (*Program, error) {
	if len(b.Shapes) == 0 && len(b.Values) == 0 && len(b.Dims) == 0 {
		return f.fn.specialise(ctx, nil)
	}
	inputs := f.Inputs()
	for i, p := range f.fn.src.Params {
		if p.Type != nil && b.Shapes[inputs[i].Name] == nil && b.Values[inputs[i].Name] == nil {
			inputs[i].Ranked = true
			for _, n := range p.Type.Spec().Shape {
				inputs[i].Dims = append(inputs[i].Dims, importer.Dim{Size: n, Fixed: true})
			}
		}
	}
	shapes, err := b.Resolve(inputs)
	if err != nil {
		return nil, err
	}
	specs := make([]Spec, len(shapes))
	for i, s := range shapes {
		specs[i] = ir.F32(s...)
	}
	return f.fn.program(ctx, specs)
}
