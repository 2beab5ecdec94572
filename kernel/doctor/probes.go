package doctor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"forgekernel/forge"
)

func kernel(context.Context) Finding {
	return Finding{State: OK, Found: fmt.Sprintf("built with %s for %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)}
}

func operatingSystem(context.Context) Finding {
	name := "unknown distribution"
	if text, err := os.ReadFile("/etc/os-release"); err == nil {
		if v, found := field(text, "PRETTY_NAME", "="); found {
			name = strings.Trim(v, `"`)
		}
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return Finding{State: Info, Found: name}
	}
	return Finding{State: OK, Found: fmt.Sprintf("%s, %s %s", name, unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Release[:]))}
}

// field finds "name <sep> value" in lines of text.
func field(text []byte, name, sep string) (string, bool) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		k, v, found := strings.Cut(lines.Text(), sep)
		if found && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// features are the instruction sets that generated kernels care for.
var features = []struct {
	name string
	has  *bool
}{
	{"SSE4.2", &cpu.X86.HasSSE42}, {"AVX2", &cpu.X86.HasAVX2}, {"FMA", &cpu.X86.HasFMA},
	{"AVX-512F", &cpu.X86.HasAVX512F}, {"AVX-512 BF16", &cpu.X86.HasAVX512BF16}, {"AMX", &cpu.X86.HasAMXTile},
	{"ASIMD", &cpu.ARM64.HasASIMD}, {"SVE", &cpu.ARM64.HasSVE}, {"dot product", &cpu.ARM64.HasASIMDDP},
}

func processor(context.Context) Finding {
	model := "unknown model"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if v, found := field(text, "model name", ":"); found {
			model = v
		}
	}
	var has []string
	for _, f := range features {
		if *f.has {
			has = append(has, f.name)
		}
	}
	if len(has) == 0 {
		return Finding{State: Info, Found: model, Advice: "no vector instructions were recognised; generated code will be scalar"}
	}
	return Finding{State: OK, Found: model + "; " + strings.Join(has, ", ")}
}

func cores(context.Context) Finding {
	usable, used := runtime.NumCPU(), runtime.GOMAXPROCS(0)
	s := fmt.Sprintf("%d usable", usable)
	if used != usable {
		s += fmt.Sprintf(", limited to %d", used)
	}
	load := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(text), " ")
		s += ", load " + load
	}
	f := Finding{State: OK, Found: s}
	if l, err := strconv.ParseFloat(load, 64); err == nil && l > float64(used) {
		f.Advice = "the machine is busy: measurements will vary"
	}
	return f
}

func memory(context.Context) Finding {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return Finding{State: Info, Found: err.Error()}
	}
	total, available := kibibytes(text, "MemTotal"), kibibytes(text, "MemAvailable")
	s := fmt.Sprintf("%s, %s available", size(total), size(available))
	if limit, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(limit)), 10, 64); err == nil && n < total {
			s += ", limited to " + size(n) + " by the container"
		}
	}
	return Finding{State: OK, Found: s}
}

func kibibytes(text []byte, name string) uint64 {
	v, _ := field(text, name, ":")
	n, _ := strconv.ParseUint(strings.TrimSuffix(v, " kB"), 10, 64)
	return n << 10
}

func size(n uint64) string {
	if n < 10<<30 {
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// program finds the first of several programs and asks for its version.
func program(advice, version string, names ...string) func(context.Context) Finding {
	return func(ctx context.Context) Finding {
		for _, name := range names {
			path, err := exec.LookPath(name)
			if err != nil {
				continue
			}
			line, err := firstLine(ctx, path, version)
			if err != nil {
				return Finding{State: Missing, Found: err.Error(), Advice: advice}
			}
			return Finding{State: OK, Found: line + " (" + path + ")"}
		}
		return Finding{State: Missing, Found: strings.Join(names, ", ") + ": not on PATH", Advice: advice}
	}
}

// optional is program for what nobody need miss.
func optional(name, version string) func(context.Context) Finding {
	look := program("", version, name)
	return func(ctx context.Context) Finding {
		f := look(ctx)
		if f.State == Missing {
			f.State = Info
		}
		return f
	}
}

// firstLine is the first line that a program prints.
func firstLine(ctx context.Context, path string, args ...string) (string, error) {
	out, err := output(ctx, path, args...)
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return line, err
}

func output(ctx context.Context, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = patience / 10 // a descendant may hold the pipe
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s gave no answer within %s", filepath.Base(path), patience)
	case err != nil:
		return "", fmt.Errorf("%s failed: %w", filepath.Base(path), err)
	}
	return string(out), nil
}

// jupyter finds the server that started this kernel, or else one on PATH.
func jupyter(ctx context.Context) Finding {
	if parent := os.Getenv("JPY_PARENT_PID"); parent != "" {
		if command, err := commandOf(parent); err == nil {
			return Finding{State: OK, Found: "this kernel was started by " + command}
		}
	}
	return program("pip install jupyterlab; without it, forge notebook run executes notebooks", "--version", "jupyter-lab", "jupyter")(ctx)
}

// commandOf is the command line of a process that is not this program itself,
// as it is under forge notebook run.
func commandOf(pid string) (string, error) {
	if _, err := strconv.ParseUint(pid, 10, 32); err != nil {
		return "", err
	}
	own, err := os.Executable()
	if other, _ := os.Readlink("/proc/" + pid + "/exe"); err == nil && other == own {
		return "", errors.New("it is no Jupyter")
	}
	raw, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if err == nil && len(raw) == 0 {
		err = errors.New("it has ended")
	}
	return strings.TrimSpace(strings.ReplaceAll(string(raw), "\x00", " ")), err
}

func gpu(ctx context.Context) Finding {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		if devices, _ := filepath.Glob("/dev/nvidia[0-9]*"); len(devices) > 0 {
			return Finding{State: Missing, Found: fmt.Sprintf("%d NVIDIA devices, but no nvidia-smi on PATH", len(devices)), Advice: "install the driver's user-space programs or put them on PATH"}
		}
		return Finding{State: Info, Found: "no NVIDIA GPU; programs run on " + strings.Join(forge.Backends(), " or ")}
	}
	out, err := output(ctx, path, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
	if err != nil {
		return Finding{State: Missing, Found: err.Error(), Advice: "the driver does not answer: check nvidia-smi in a terminal"}
	}
	return Finding{State: OK, Found: strings.Join(strings.Split(strings.TrimSpace(out), "\n"), "; ")}
}

// cache examines where compiled kernels are kept.
func cache(context.Context) Finding {
	base, err := os.UserCacheDir()
	if err != nil {
		return Finding{State: Missing, Found: err.Error(), Advice: "set XDG_CACHE_HOME or HOME"}
	}
	dir := filepath.Join(base, "forge")
	at := dir // or the nearest parent that exists
	for {
		if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		at = filepath.Dir(at)
	}
	if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
		return Finding{State: Missing, Found: fmt.Sprintf("%s is not writable: %v", at, err), Advice: "set XDG_CACHE_HOME to a writable directory"}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(at, &fs); err != nil {
		return Finding{State: Info, Found: dir + ": " + err.Error()}
	}
	return Finding{State: OK, Found: fmt.Sprintf("%s, %s free", dir, size(fs.Bavail*uint64(fs.Bsize)))}
}

// launchers are recognised by their variables, the most specific first.
var launchers = []struct {
	name string
	vars []string // all must be set; the first two are shown
}{
	{"torchrun", []string{"RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK"}},
	{"Open MPI", []string{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}},
	{"srun", []string{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID"}},
	{"MPICH or Intel MPI", []string{"PMI_RANK", "PMI_SIZE"}},
	{"Kubernetes Indexed Job", []string{"JOB_COMPLETION_INDEX", "KUBERNETES_SERVICE_HOST"}},
}

func launcher(context.Context) Finding {
	for _, l := range launchers {
		var values []string
		for _, name := range l.vars {
			v, set := os.LookupEnv(name)
			if !set {
				break
			}
			values = append(values, name+"="+v)
		}
		if len(values) == len(l.vars) {
			return Finding{State: OK, Found: l.name + ": " + strings.Join(values[:2], " ")}
		}
	}
	return Finding{State: Info, Found: "none; distributed runs start their own ranks on this host"}
}

// hosts are recognised by a variable or a file.
var hosts = []struct{ name, variable, file string }{
	{"Kaggle", "KAGGLE_KERNEL_RUN_TYPE", ""},
	{"Google Colab", "COLAB_RELEASE_TAG", ""},
	{"Kubernetes pod", "KUBERNETES_SERVICE_HOST", ""},
	{"Docker container", "", "/.dockerenv"},
	{"Podman container", "", "/run/.containerenv"},
}

func host(context.Context) Finding {
	for _, h := range hosts {
		if h.variable != "" && os.Getenv(h.variable) != "" {
			return Finding{State: Info, Found: h.name}
		}
		if h.file != "" {
			if _, err := os.Stat(h.file); err == nil {
				return Finding{State: Info, Found: h.name}
			}
		}
	}
	return Finding{State: Info, Found: "a machine of its own, as far as can be seen"}
}
