package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"forgekernel/kernel/gocell/hostpkg/archive"
)

// group is a set of packages whose tables share one Go package, so that a
// change to our own code does not recompile the tables of the standard library.
type group struct {
	name     string
	patterns []string
}

var groups = []group{
	{"std", []string{"std"}},
	{"gonum", []string{
		"gonum.org/v1/gonum/diff/fd",
		"gonum.org/v1/gonum/floats",
		"gonum.org/v1/gonum/floats/scalar",
		"gonum.org/v1/gonum/integrate",
		"gonum.org/v1/gonum/interp",
		"gonum.org/v1/gonum/mat",
		"gonum.org/v1/gonum/optimize",
		"gonum.org/v1/gonum/stat",
		"gonum.org/v1/gonum/stat/combin",
		"gonum.org/v1/gonum/stat/distuv",
		"gonum.org/v1/plot",
		"gonum.org/v1/plot/font",
		"gonum.org/v1/plot/palette",
		"gonum.org/v1/plot/palette/brewer",
		"gonum.org/v1/plot/palette/moreland",
		"gonum.org/v1/plot/plotter",
		"gonum.org/v1/plot/plotutil",
		"gonum.org/v1/plot/text",
		"gonum.org/v1/plot/vg",
		"gonum.org/v1/plot/vg/draw",
		"gonum.org/v1/plot/vg/vgimg",
		"gonum.org/v1/plot/vg/vgsvg",
	}},
	{"own", []string{
		"forgekernel/display",
		"forgekernel/display/chart",
		"forgekernel/forge",
		"forgekernel/forge/backend/cuda",
		"forgekernel/forge/capture",
		"forgekernel/forge/ir",
		"forgekernel/forge/pass",
		"forgekernel/forge/script",
		"forgekernel/forge/tensor",
		"forgekernel/nebula",
		"forgekernel/kernel/gocell/gonbui",
	}},
}

// unreachable names packages of the standard library that make no sense in a
// cell: they need cgo, or a flag of the build.
var unreachable = map[string]bool{
	"plugin":       true,
	"runtime/asan": true,
	"runtime/cgo":  true,
	"runtime/msan": true,
	"runtime/race": true,
	"unsafe":       true, // known to go/types itself
}

// hostPackage is one importable package on its way into the archive.
type hostPackage struct {
	ImportPath string
	Name       string
	Dir        string
	Export     string // file with export data
	GoFiles    []string
	Standard   bool
	Error      *struct{ Err string }

	group  string
	types  *types.Package
	export []byte   // reduced export data
	deps   []string // importable packages that the export data mentions
	docs   map[string]string
}

// load lists the packages of all groups, with types, and the hidden ones that
// interpreted packages import.
func load() (public, hidden []*hostPackage, err error) {
	var args []string
	for _, g := range groups {
		args = append(args, g.patterns...)
	}
	all, err := goList(append([]string{"-export", "-deps"}, args...)...)
	if err != nil {
		return nil, nil, err
	}
	if err := readTypes(all); err != nil {
		return nil, nil, err
	}
	for _, p := range all {
		if p.group = groupOf(p); p.group != "" {
			public = append(public, p)
		} else if archive.Interpreted(p.ImportPath) {
			hidden = append(hidden, p)
		}
	}
	slices.SortFunc(public, func(a, b *hostPackage) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return public, hidden, nil
}

// groupOf names the group of an importable package; all others, which are only
// needed to read the export data of these, have none.
func groupOf(p *hostPackage) string {
	for _, g := range groups {
		if slices.Contains(g.patterns, p.ImportPath) {
			return g.name
		}
	}
	if !p.Standard || unreachable[p.ImportPath] {
		return ""
	}
	for element := range strings.SplitSeq(p.ImportPath, "/") {
		if element == "internal" || element == "vendor" {
			return ""
		}
	}
	return "std"
}

func goList(args ...string) ([]*hostPackage, error) {
	const fields = "-json=ImportPath,Name,Dir,Export,GoFiles,Standard,Error"
	cmd := exec.Command("go", append([]string{"list", fields}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	var all []*hostPackage
	for dec := json.NewDecoder(&stdout); ; {
		p := new(hostPackage)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Error != nil {
			return nil, fmt.Errorf("go list: %s: %s", p.ImportPath, p.Error.Err)
		}
		all = append(all, p)
	}
}
