package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Library is a shared library found on disk. Nothing of it was executed.
type Library struct {
	Path    string // absolute
	Version string // "2.27.5"; empty when neither its file nor its package tells
	Source  string // the step of the search that found it
}

func (l Library) String() string {
	version := l.Version
	if version == "" {
		version = "version unknown"
	}
	return fmt.Sprintf("%s %s (%s)", l.Path, version, l.Source)
}

// Libraries finds every candidate for a library that is known under some names,
// the one to try first in front. The order is: NEBULA_CUDA_LIBS,
// LD_LIBRARY_PATH, the loader's cache, the folders of drivers and of toolkits,
// and packages of the Pythons found. Stubs, which a toolkit has for linking, are
// left out.
func (h *Host) Libraries(ctx context.Context, names ...string) []Library {
	var list []Library
	var seen []fs.FileInfo
	reached := map[string]bool{}
	add := func(file, source string) {
		real := h.resolve(file)
		info, err := fs.Stat(h.Root, real)
		if err != nil || !info.Mode().IsRegular() || strings.Contains("/"+file, "/stubs/") {
			return
		}
		// One file is often reached through several folders that are links, such as
		// /usr/local/cuda and /lib.
		again := func(other fs.FileInfo) bool { return os.SameFile(info, other) }
		if reached[real] || slices.ContainsFunc(seen, again) {
			return
		}
		reached[real], seen = true, append(seen, info)
		list = append(list, Library{Path: "/" + file, Version: h.version(file, real), Source: source})
	}
	folders := func(dirs []string, source string) {
		for _, dir := range dirs {
			for _, name := range names {
				add(path.Join(strings.TrimPrefix(dir, "/"), name), source)
			}
		}
	}
	folders(split(h.Env.First("NEBULA_CUDA_LIBS")), "NEBULA_CUDA_LIBS")
	folders(split(h.Env.First("LD_LIBRARY_PATH")), "LD_LIBRARY_PATH")
	for _, file := range h.loaderCache(ctx, names) {
		add(strings.TrimPrefix(file, "/"), "loader cache")
	}
	folders([]string{"usr/local/nvidia/lib64", "usr/lib64-nvidia"}, "driver")
	folders(h.glob("usr/local/cuda*/lib64", "usr/local/cuda*/targets/"+arch()+"-linux/lib"), "CUDA toolkit")
	folders(h.glob(h.pythonPatterns()...), "Python package")
	return list
}

func split(list string) []string {
	var dirs []string
	for dir := range strings.SplitSeq(list, ":") {
		if path.IsAbs(dir) { // a relative one would mean another place in every rank
			dirs = append(dirs, path.Clean(dir))
		}
	}
	return dirs
}

func (h *Host) exists(file string) bool {
	_, err := fs.Stat(h.Root, file)
	return err == nil
}

func (h *Host) glob(patterns ...string) []string {
	var all []string
	for _, p := range patterns {
		found, _ := fs.Glob(h.Root, p)
		all = append(all, found...)
	}
	return all
}

// loaderCache asks ldconfig what the dynamic loader would find.
func (h *Host) loaderCache(ctx context.Context, names []string) []string {
	program, err := h.LookPath("ldconfig")
	if err != nil {
		program = "/sbin/ldconfig" // not on PATH of everybody
	}
	out, err := h.Run(ctx, program, "-p")
	if err != nil {
		return nil
	}
	var files []string
	for _, want := range names {
		for line := range strings.Lines(out) {
			name, file, found := strings.Cut(strings.TrimSpace(line), " => ")
			if name, _, _ = strings.Cut(name, " "); found && name == want && path.IsAbs(file) {
				files = append(files, file)
			}
		}
	}
	return files
}

// pythonPatterns are where packages of NVIDIA's lie in the Pythons of the host:
// the system's, conda's, the active environment's and that of python3 on PATH.
func (h *Host) pythonPatterns() []string {
	roots := []string{"usr/lib", "usr/local/lib", "opt/conda/lib"}
	if env := h.Env.First("VIRTUAL_ENV"); path.IsAbs(env) {
		roots = append(roots, path.Join(env[1:], "lib"))
	}
	if python, err := h.LookPath("python3"); err == nil && path.IsAbs(python) {
		roots = append(roots, path.Join(path.Dir(path.Dir(python))[1:], "lib"))
	}
	var patterns []string
	for _, root := range roots {
		patterns = append(patterns, root+"/python3*/dist-packages/nvidia/*/lib", root+"/python3*/site-packages/nvidia/*/lib")
	}
	return patterns
}

// maxLinks bounds a chain of symbolic links.
const maxLinks = 16

// resolve follows symbolic links of the last element.
func (h *Host) resolve(file string) string {
	for range maxLinks {
		target, err := fs.ReadLink(h.Root, file)
		if err != nil {
			break
		}
		if path.IsAbs(target) {
			file = path.Clean(target)[1:]
		} else {
			file = path.Join(path.Dir(file), target)
		}
	}
	return file
}

var (
	soVersion = regexp.MustCompile(`\.so\.([0-9]+(?:\.[0-9]+)+)$`)
	inPackage = regexp.MustCompile(`^(.*/(?:dist|site)-packages)/nvidia/([^/]+)/lib/(lib[A-Za-z]+)\.`)
	ofPackage = regexp.MustCompile(`-([0-9][0-9A-Za-z.]*)\.dist-info$`)
	shared    = regexp.MustCompile(`^cu[0-9]+$`) // a folder that the packages of one CUDA release share
)

// distributions are what pip calls the packages of libraries.
var distributions = map[string]string{"libnccl": "nvidia_nccl", "libnvrtc": "nvidia_cuda_nvrtc", "libcublasLt": "nvidia_cublas"}

// version reads it from the name of the real file, or from the folder that pip
// keeps beside a package. With packages for two releases of CUDA, which write the
// same file, nobody can tell without running it.
func (h *Host) version(file, real string) string {
	if m := soVersion.FindStringSubmatch(real); m != nil {
		return m[1]
	}
	m := inPackage.FindStringSubmatch(file)
	if m == nil || distributions[m[3]] == "" {
		return ""
	}
	name := m[1] + "/" + distributions[m[3]]
	// From CUDA 13 on, names of packages have no release, but folders may.
	patterns := []string{name + "_cu*-*.dist-info"}
	if shared.MatchString(m[2]) {
		patterns = []string{name + "-" + m[2][len("cu"):] + ".*.dist-info"}
	}
	infos := h.glob(patterns...)
	if len(infos) != 1 {
		return ""
	}
	if v := ofPackage.FindStringSubmatch(infos[0]); v != nil {
		return v[1]
	}
	return ""
}

func driverLibrary(ctx context.Context, h *Host) Finding {
	list := h.Libraries(ctx, "libcuda.so.1")
	_, err := h.gpus(ctx)
	switch {
	case errors.Is(err, errNoGPU) && len(list) == 0:
		return Finding{State: OK, Found: "not needed without a GPU"}
	case len(list) == 0:
		return Finding{State: Fail, Found: "libcuda.so.1 is nowhere", Fix: "it comes with the driver: in a container, start it with the GPU (docker run --gpus all); else set NEBULA_CUDA_LIBS to its folder"}
	}
	f := Finding{State: OK, Found: list[0].String()}
	for _, l := range list {
		if strings.Contains(l.Path, "/compat/") {
			f.State, f.Fix = Warn, l.Path+" of a toolkit may hide the driver's own: it must fit the driver"
		}
	}
	if len(list) > 1 {
		f.Found += fmt.Sprintf("; and %d others: %s", len(list)-1, paths(list[1:]))
	}
	return f
}

// needed are the libraries of CUDA that ranks use, with the names of the releases
// that are known, newest first.
var needed = []struct {
	what  string
	names []string
	fix   string
}{
	{"NCCL", []string{"libnccl.so.2"}, "pip install nvidia-nccl-cu12"},
	{"NVRTC", []string{"libnvrtc.so.13", "libnvrtc.so.12"}, "pip install nvidia-cuda-nvrtc-cu12"},
	{"cuBLASLt", []string{"libcublasLt.so.13", "libcublasLt.so.12"}, "pip install nvidia-cublas-cu12"},
}

// CUDALibraries finds the libraries of CUDA that programs and ranks on GPUs need.
func CUDALibraries(ctx context.Context, h *Host) Finding {
	list, err := h.gpus(ctx)
	f := Finding{State: OK}
	var parts, fixes []string
	for _, n := range needed {
		found := h.Libraries(ctx, n.names...)
		switch {
		case len(found) > 0:
			part := n.what + " " + found[0].String()
			if len(found) > 1 {
				part += " before " + paths(found[1:])
			}
			parts = append(parts, part)
		case err == nil && (n.what != "NCCL" || len(list) > 1):
			parts = append(parts, "no "+n.what)
			fixes = append(fixes, n.fix)
		}
	}
	if len(fixes) > 0 {
		f.State, f.Fix = Warn, strings.Join(fixes, ", ")+"; or set NEBULA_CUDA_LIBS to the folders that hold them"
	}
	if f.Found = strings.Join(parts, "; "); f.Found == "" {
		f.Found = "none, and none needed"
	}
	return f
}

func paths(list []Library) string {
	var all []string
	for _, l := range list {
		text := l.Path
		if l.Version != "" {
			text += " " + l.Version
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
