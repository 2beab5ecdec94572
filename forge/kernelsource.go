package forge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/backend/triton"
	"forgekernel/forge/backend/wgsl"
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
	{"wgsl", func(g *ir.Graph, _ KernelOptions) (*backend.Listing, error) { return wgsl.List(g, wgsl.DefaultTarget) }},
}

// KernelLanguages names the languages that kernels are written in.
func KernelLanguages() []string {
	var names []string
	for _, l := range kernelLanguages {
		names = append(names, l.name)
	}
	return names
}

// KernelSource is the source of a program's kernels in a language, "c", "cuda", "triton" or
// "wgsl", which needs neither a compiler nor a device, or in the form of package loop
// that all of these are printed from, "loop".
func (p *Program) KernelSource(lang string) (*KernelSource, error) {
	return p.KernelSourceWith(KernelOptions{Lang: lang, Candidate: -1})
}

// kernelLanguage is what the backend of the program writes: C for those of the processor.
func (p *Program) kernelLanguage() string {
	for _, l := range kernelLanguages {
		if strings.HasPrefix(p.backend, l.name) {
			return l.name
		}
	}
	if p.backend == "gpu" {
		return "wgsl"
	}
	return "c"
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
	return &KernelSource{Listing: l, graph: p.graph()}, nil
}

// KernelSource is the source of a program's kernels, to be looked at.
type KernelSource struct {
	*backend.Listing
	graph *ir.Graph
	value string // the one whose kernels are shown; empty for all
}

// Of is the source of the kernels that compute one value, "%h".
func (s *KernelSource) Of(value string) (*KernelSource, error) {
	if _, err := s.Listing.Of(value); err != nil {
		return nil, err
	}
	return &KernelSource{s.Listing, s.graph, value}, nil
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
	t := display.Table{Columns: []display.Column{{Name: "node"}, {Name: "kernel"}, {Name: "lines", Align: display.AlignRight}, {Name: "run"}}}
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

// Display shows the program with the kernels that implement its nodes, the table of
// them, and the source in sections: each kernel with its node beside its lines, and
// between them what kernels share. In plain text it is the source.
func (s *KernelSource) Display() display.Bundle {
	var text, page strings.Builder
	if s.value == "" {
		if svg, err := s.Graph().SVG(); err == nil && len(s.graph.Nodes) <= drawnNodes {
			page.WriteString(display.Image(svg, "nodes and the kernels that implement them") + "\n")
		}
	}
	add := func(d display.Displayer) {
		if part, is := d.Display().Data["text/html"].(string); is {
			page.WriteString(part)
		}
	}
	add(s.Table())
	for _, part := range s.sections() {
		add(part)
	}
	for _, part := range s.Parts() {
		text.WriteString(part.Code)
	}
	return display.Bundle{Data: map[string]any{"text/html": page.String(), "text/plain": text.String()}}
}

// drawnNodes is the size of a graph that stands above its kernels.
const drawnNodes = 40

// Graph is the program, each node with the kernel and the lines that implement it.
func (s *KernelSource) Graph() display.Graph {
	g := s.graph.Drawing()
	where := make(map[string]string)
	for _, k := range s.Kernels {
		at := fmt.Sprintf("%s, lines %d-%d", k.Name, k.First, k.Last)
		if before := where[k.Value]; before != "" && before != at {
			at = before + "; " + at
		}
		where[k.Value] = at
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if at := where["%"+n.ID]; at != "" && n.Cluster == "" {
			n.Tooltip = strings.TrimSpace(n.Sub + "\n" + n.Tooltip)
			n.Sub = at
		}
	}
	for i := range g.Clusters {
		c := &g.Clusters[i]
		if at := where["%"+c.ID]; at != "" {
			c.Label = at
		}
	}
	return g
}

// sections are the kernels that are shown, one by one, and if those are all what
// stands between them.
func (s *KernelSource) sections() []display.Source {
	lines := strings.SplitAfter(s.Code, "\n")
	var list []display.Source
	next := 1
	rest := func(to int, name string) {
		if s.value == "" && next <= to && strings.TrimSpace(strings.Join(lines[next-1:to], "")) != "" {
			list = append(list, display.Source{Lang: s.Lang, Code: strings.Join(lines[next-1:to], ""), First: next, Name: name})
		}
	}
	shown := slices.SortedStableFunc(slices.Values(s.Shown()), func(a, b backend.Listed) int { return cmp.Compare(a.First, b.First) })
	for i, k := range shown {
		if i > 0 && k.First == shown[i-1].First {
			continue // equal kernels of several nodes are the same lines
		}
		rest(k.First-1, "what the kernels share")
		list = append(list, s.section(k))
		next = max(next, k.Last+1)
	}
	rest(len(lines), "how they are run")
	return list
}

// section is a kernel beside the nodes that it implements.
func (s *KernelSource) section(k backend.Listed) display.Source {
	var values []string
	for _, o := range s.Kernels {
		name := cmp.Or(o.Value, o.Doc) // the copy of a result has no value
		if o.First == k.First && !slices.Contains(values, name) {
			values = append(values, name)
		}
	}
	label := strings.Join(values, ", ")
	return display.Source{
		Lang: s.Lang, Code: s.Lines(k), First: k.First, Name: fmt.Sprintf("%s computes %s", k.Name, label),
		Links: []display.Link{{First: k.First, Last: k.Last, Label: label, Class: s.class(k.Value), Tip: k.Doc}},
	}
}

// class is how the node of a value is drawn.
func (s *KernelSource) class(value string) display.Class {
	for _, n := range s.graph.Nodes {
		if n.Out[0].String() == value {
			return n.Op.Class.Drawn()
		}
	}
	return display.ClassFused
}
