package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge"
	"forgekernel/forge/capture"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// groups are sets of models of the suite by what their names begin with.
var groups = []struct {
	name     string
	prefixes []string
}{
	{"mlp", []string{"mlp_"}},
	{"neural", []string{"mlp_", "residual_", "transformer_", "vision_"}},
	{"llm", []string{"gpt2_", "llama_"}},
	{"all", []string{""}},
}

func suiteNames() []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

// models are those that a name means: a group, or one model.
func models(name string) ([]string, error) {
	for _, g := range groups {
		if g.name == name {
			return slices.DeleteFunc(suite.Names(), func(model string) bool {
				return !slices.ContainsFunc(g.prefixes, func(p string) bool { return strings.HasPrefix(model, p) })
			}), nil
		}
	}
	if slices.Contains(suite.Names(), name) {
		return []string{name}, nil
	}
	return nil, fmt.Errorf("--suite: there is no suite or model %q; there are %s, and the models %s",
		name, strings.Join(suiteNames(), ", "), strings.Join(suite.Names(), ", "))
}

// subjects are the models of the suites, or the function of the file.
func (b *bench) subjects(ctx context.Context, args []string) ([]*capture.Subject, error) {
	if len(args) > 0 {
		s, err := b.file(ctx, args[0])
		return []*capture.Subject{s}, err
	}
	var list []*capture.Subject
	floats, known := tensor.ParseDType(b.floats)
	if !known {
		return nil, usageError{fmt.Errorf("--dtype: there is no type %q", b.floats)}
	}
	for _, name := range b.suite {
		names, err := models(name)
		if err != nil {
			return nil, usageError{err}
		}
		for _, model := range names {
			g, err := suite.BuildIn(model, floats)
			if err != nil {
				return nil, usageError{fmt.Errorf("--dtype: %w", err)}
			}
			s, err := capture.NewSubject(g.Name, g, b.settings.Seed)
			if err != nil {
				return nil, err
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// file is what a file holds, on the inputs that "forge run" makes too.
func (b *bench) file(ctx context.Context, path string) (*capture.Subject, error) {
	b.program.backend, b.program.threads = "interp", 1 // which compiles nothing: only the graphs are wanted
	compiled, inputs, err := b.load(ctx, []string{path}, b.inputs)
	if err == nil && inputs == nil {
		inputs, err = compiled.RandomInputs(b.settings.Seed)
	}
	if err != nil {
		return nil, err
	}
	s, err := capture.CompiledSubject(compiled.Name(), compiled.Snapshots()[0].Snapshot.Graph, compiled.Module(), inputs)
	if err == nil && forge.IsModel(path) {
		s.File = modelFile(path, compiled, inputs)
	}
	return s, err
}

// modelFile is the file of a model with the inputs of a program and those that are a
// part of it.
func modelFile(path string, compiled *forge.Program, inputs []*forge.Tensor) *capture.ModelFile {
	report := &capture.ModelFile{Path: path, Outputs: compiled.OutputNames()}
	for i, name := range compiled.InputNames() {
		report.Inputs = append(report.Inputs, tensor.Named{Name: name, Tensor: inputs[i]})
	}
	for _, b := range compiled.Bound() {
		report.Inputs = append(report.Inputs, tensor.Named{Name: b.Input, Tensor: b.Value})
	}
	return report
}
