package forge

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/backend/triton"
	"forgekernel/forge/ir"
)

// DefaultArch is the architecture that CUDA C is written for unless another is named.
const DefaultArch = "sm_90"

// KernelOptions say which source of a program's kernels is wanted. Candidate is the
// number of the way to run each node, counted from 0; -1 is the backend's own.
type KernelOptions struct {
	Lang      string // one of [KernelLanguages]
	Arch      string // of CUDA C; empty for [DefaultArch]
	Candidate int
}

// kernelLanguage writes the kernels of a graph in one language.
type kernelLanguage struct {
	name string
	list func(g *ir.Graph, o KernelOptions) (*backend.Listing, error)
}

var kernelLanguages = []kernelLanguage{
	{"loop", func(g *ir.Graph, _ KernelOptions) (*backend.Listing, error) {
		return planned.List(g, cpu.DefaultMaxBytes)
	}},
	{"c", func(g *ir.Graph, o KernelOptions) (*backend.Listing, error) { return cpu.New().List(g, o.Candidate) }},
	{"cuda", func(g *ir.Graph, o KernelOptions) (*backend.Listing, error) {
		if o.Arch == "" {
			o.Arch = DefaultArch
		}
		return cuda.List(g, o.Arch, o.Candidate)
	}},
	{"triton", func(g *ir.Graph, o KernelOptions) (*backend.Listing, error) { return triton.List(g, o.Candidate) }},
}

// KernelLanguages names the languages that kernels are written in.
func KernelLanguages() []string {
	var names []string
	for _, l := range kernelLanguages {
		names = append(names, l.name)
	}
	return names
}

// KernelSource is the source of a program's kernels in a language, "c", "cuda" or
// "triton", which needs neither a compiler nor a device, or in the form of package loop
// that all of these are printed from, "loop".
func (p *Program) KernelSource(lang string) (*KernelSource, error) {
	return p.KernelSourceWith(KernelOptions{Lang: lang, Candidate: -1})
}

// KernelSourceWith is [Program.KernelSource] with all options.
func (p *Program) KernelSourceWith(o KernelOptions) (*KernelSource, error) {
	i := slices.IndexFunc(kernelLanguages, func(l kernelLanguage) bool { return l.name == o.Lang })
	if i < 0 {
		return nil, fmt.Errorf("no backend writes kernels in %q; there are %s", o.Lang, strings.Join(KernelLanguages(), ", "))
	}
	l, err := kernelLanguages[i].list(p.graph(), o)
	if err != nil {
		return nil, err
	}
	if err := l.CheckCandidate(o.Candidate); err != nil {
		return nil, err
	}
	return &KernelSource{Listing: l}, nil
}

// KernelSource is the source of a program's kernels, to be looked at.
type KernelSource struct {
	*backend.Listing
	value string // the one whose kernels are shown; empty for all
}

// Of is the source of the kernels that compute one value, "%h".
func (s *KernelSource) Of(value string) (*KernelSource, error) {
	if _, err := s.Listing.Of(value); err != nil {
		return nil, err
	}
	return &KernelSource{s.Listing, value}, nil
}

// Shown are the kernels that are shown.
func (s *KernelSource) Shown() []backend.Listed {
	if s.value == "" {
		return s.Kernels
	}
	list, _ := s.Listing.Of(s.value) // there are some
	return list
}

// Parts are what is shown: all of the code, in which the first lines of kernels are
// marked, or the kernels of one value.
func (s *KernelSource) Parts() []display.Source {
	if s.value == "" {
		whole := display.Source{Lang: s.Lang, Code: s.Code, Name: s.File}
		for _, k := range s.Kernels {
			whole.Highlight = append(whole.Highlight, k.First)
		}
		return []display.Source{whole}
	}
	var list []display.Source
	for _, k := range s.Shown() {
		name := fmt.Sprintf("%s in %s", k.Name, s.File)
		list = append(list, display.Source{Lang: s.Lang, Code: s.Lines(k), Name: name, First: k.First})
	}
	return list
}

// Table says which kernel implements which node, where it stands and how it is run.
func (s *KernelSource) Table() display.Table {
	t := display.Table{Columns: []display.Column{{Name: "node"}, {Name: "kernel"}, {Name: "lines"}, {Name: "run"}}}
	for _, k := range s.Shown() {
		t.Rows = append(t.Rows, []any{k.Doc, k.Name, fmt.Sprintf("%d-%d", k.First, k.Last), k.Launch})
	}
	if s.value == "" {
		for _, m := range s.Missing {
			t.Rows = append(t.Rows, []any{m})
		}
	}
	return t
}

// Display shows the table and the source; in plain text, the source.
func (s *KernelSource) Display() display.Bundle {
	var text, page strings.Builder
	add := func(d display.Displayer) {
		if part, is := d.Display().Data["text/html"].(string); is {
			page.WriteString(part)
		}
	}
	add(s.Table())
	for _, p := range s.Parts() {
		add(p)
		text.WriteString(p.Code)
	}
	return display.Bundle{Data: map[string]any{"text/html": page.String(), "text/plain": text.String()}}
}
