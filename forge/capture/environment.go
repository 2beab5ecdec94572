package capture

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"forgekernel/forge/backend/cuda/nvrtc"
)

// Environment is where a capture was taken. What could not be found out is
// empty, and said to be unknown where it is shown.
type Environment struct {
	CPU       string   `json:"cpu"`
	ISA       []string `json:"isa"`   // extensions: "AVX2", "FMA"
	Cores     int      `json:"cores"` // that the process may use
	GoThreads int      `json:"gomaxprocs"`
	Platform  string   `json:"platform"` // "linux/amd64"
	System    string   `json:"system"`   // the kernel's release
	Memory    uint64   `json:"memory_bytes"`
	Go        string   `json:"go"`
	Compiler  string   `json:"compiler"` // the C compiler and its version
	GPUs      []string `json:"gpus"`
	Driver    string   `json:"gpu_driver"`
	NVRTC     string   `json:"nvrtc,omitempty"` // its version, where programs ran on a GPU
	// Libraries are the modules of the program with their versions.
	Libraries map[string]string `json:"libraries"`
	// Commit is what the program was built from, and Tree whether the files then
	// were those of the commit.
	Commit string `json:"commit"`
	Tree   Tree   `json:"tree"`
	// Load is the load average over a minute, before and after.
	LoadBefore string `json:"load_before"`
	LoadAfter  string `json:"load_after"`
	// Variables are those of the process environment that change how fast
	// libraries and compilers are, where they are set. A peer has its own.
	Variables map[string]string `json:"variables"`
	// Peers are the versions and settings of other libraries, by peer and name.
	Peers map[string]map[string]string `json:"peers,omitempty"`
	// Limits are those of one core, measured for this capture; nil if they were not.
	Limits *Limits `json:"limits,omitempty"`
}

// Tree says whether a working tree had changes when the program was built.
type Tree string

// States of a tree.
const (
	Clean       Tree = "clean"
	Dirty       Tree = "dirty"
	UnknownTree Tree = "unknown" // built without version control
)

// tuning names the variables that are recorded.
var tuning = []string{
	"FORGE_CC", "FORGE_CACHE_DIR", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT",
}

// Describe finds out about this machine and this program.
func Describe(ctx context.Context) Environment {
	e := Environment{
		CPU: Processor(), ISA: extensions(), Cores: runtime.NumCPU(), GoThreads: runtime.GOMAXPROCS(0),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Compiler: compiler(ctx), GPUs: gpus(), Driver: driver(),
		Tree: UnknownTree, Libraries: map[string]string{}, Variables: map[string]string{}, LoadBefore: Load(), Memory: memory(),
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		e.System = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	for _, name := range tuning {
		if value, ok := os.LookupEnv(name); ok {
			e.Variables[name] = value
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		e.build(info)
	}
	if description := build.Load(); description != nil {
		e.stamp(*description)
	}
	return e
}

// build is what [SetBuild] was told.
var build atomic.Pointer[string]

// SetBuild says what this program was built from, in the words of "git describe
// --always --dirty". It counts where the linker recorded no commit, as in a second
// working tree of a repository.
func SetBuild(description string) { build.Store(&description) }

// build takes over what the linker recorded. A commit that is looked up in the
// working folder might be that of another program.
func (e *Environment) build(info *debug.BuildInfo) {
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		e.Libraries[m.Path] = m.Version
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			e.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			e.Tree = Dirty
		case s.Key == "vcs.modified":
			e.Tree = Clean
		}
	}
}

// describePeer takes over what a candidate knows of the library that it runs on.
func (e *Environment) describePeer(c Candidate) error {
	if c.Label().Backend == "cuda" {
		if n, err := nvrtc.Open(); err == nil {
			e.NVRTC = n.Version
		}
	}
	d, ok := c.(Describer)
	if !ok {
		return nil
	}
	facts, name := d.Describe(), c.Label().Backend
	if len(facts) == 0 {
		return nil // it never ran
	}
	if before, ok := e.Peers[name]; ok && !maps.Equal(before, facts) {
		return fmt.Errorf("%s was %s and is now %s", name, pairs(before), pairs(facts))
	}
	if e.Peers == nil {
		e.Peers = make(map[string]map[string]string)
	}
	e.Peers[name] = facts
	return nil
}

// stamp takes over a description of the commit, unless there is one.
func (e *Environment) stamp(description string) {
	if e.Commit != "" {
		return
	}
	commit, dirty := strings.CutSuffix(description, "-dirty")
	e.Commit, e.Tree = commit, Clean
	if dirty {
		e.Tree = Dirty
	}
}

// field is a value of a file of lines "key : value"; empty if there is none.
func field(path, key string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Processor is the model of the processor, in its maker's words; empty where the
// system does not tell.
func Processor() string { return field("/proc/cpuinfo", "model name") }

// Load is the load average over the last minute; empty where the system does not
// tell.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// extensions lists what the processor has, by the names of package cpu.
func extensions() []string {
	var machine reflect.Value
	switch runtime.GOARCH {
	case "amd64":
		machine = reflect.ValueOf(cpu.X86)
	case "arm64":
		machine = reflect.ValueOf(cpu.ARM64)
	default:
		return []string{}
	}
	list := []string{}
	for i := range machine.NumField() {
		name, ok := strings.CutPrefix(machine.Type().Field(i).Name, "Has")
		if ok && machine.Field(i).Bool() {
			list = append(list, name)
		}
	}
	return list
}

// patience bounds the question for a compiler's version.
const patience = 5 * time.Second

// compiler is the first line of what the C compiler says of its version.
func compiler(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	names := []string{"cc", "gcc", "clang"}
	if chosen := os.Getenv("FORGE_CC"); chosen != "" {
		names = []string{chosen}
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, path, "--version").Output()
		if err == nil {
			line, _, _ := bytes.Cut(out, []byte("\n"))
			return strings.TrimSpace(string(line))
		}
	}
	return ""
}

// gpus are the models of NVIDIA's devices, as their driver lists them.
func gpus() []string {
	paths, err := filepath.Glob("/proc/driver/nvidia/gpus/*/information")
	if err != nil {
		return []string{}
	}
	list := []string{}
	for _, path := range slices.Sorted(slices.Values(paths)) {
		list = append(list, cmp.Or(field(path, "Model"), "unknown"))
	}
	return list
}

// driver is the version line of NVIDIA's driver.
func driver() string {
	text, err := os.ReadFile("/proc/driver/nvidia/version")
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "NVRM version:"))
}
