package doctor

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"forgekernel/display"
	"forgekernel/nebula/memory"
)

// OperatingSystem finds the distribution and the kernel.
func OperatingSystem(_ context.Context, h *Host) Finding {
	name := strings.Trim(field(h.read("etc/os-release"), "PRETTY_NAME", "="), `"`)
	if name == "" {
		name = "unknown distribution"
	}
	if release := h.read("proc/sys/kernel/osrelease"); release != "" {
		name += ", Linux " + release
	}
	return Finding{State: OK, Found: name}
}

// kinds of hosts are recognised by a variable or a file.
var kinds = []struct{ name, variable, file string }{
	{"Kaggle", "KAGGLE_KERNEL_RUN_TYPE", ""},
	{"Google Colab", "COLAB_RELEASE_TAG", ""},
	{"Kubernetes pod", "KUBERNETES_SERVICE_HOST", ""},
	{"Docker container", "", ".dockerenv"},
	{"Podman container", "", "run/.containerenv"},
}

// Kind finds what kind of host this is.
func Kind(_ context.Context, h *Host) Finding {
	for _, k := range kinds {
		if k.variable != "" && h.set(k.variable) || k.file != "" && h.exists(k.file) {
			return Finding{State: OK, Found: k.name}
		}
	}
	return Finding{State: OK, Found: "a machine of its own, as far as can be seen"}
}

// Processor finds the model and its vector instructions.
func Processor(_ context.Context, h *Host) Finding {
	model := field(h.read("proc/cpuinfo"), "model name", ":")
	if model == "" {
		model = "unknown model"
	}
	if len(h.Features) == 0 {
		return Finding{State: Warn, Found: model, Fix: "no vector instructions were recognised; generated code will be scalar"}
	}
	return Finding{State: OK, Found: model + "; " + strings.Join(h.Features, ", ")}
}

// Cores finds how many cores may be used, how many the container gives, and how
// many others use.
func Cores(_ context.Context, h *Host) Finding {
	f := Finding{State: OK, Found: fmt.Sprintf("%d usable", h.Cores.Own)}
	if h.Cores.Shared > h.Cores.Own {
		f.Found += fmt.Sprintf(" of %d", h.Cores.Shared)
	}
	if quota := h.quota(); quota > 0 {
		f.Found += fmt.Sprintf(", the container gives the time of %.3g", quota)
	}
	load, _, _ := strings.Cut(h.read("proc/loadavg"), " ")
	if load != "" {
		f.Found += ", load " + load
	}
	if l, err := strconv.ParseFloat(load, 64); err == nil && l > float64(h.Cores.Own) {
		f.State, f.Fix = Warn, "the machine is busy: measurements will vary, and ranks wait for one another"
	}
	return f
}

// quota is how many cores' time the container gives; 0 is no limit.
func (h *Host) quota() float64 {
	limit, period, found := strings.Cut(h.read("sys/fs/cgroup/cpu.max"), " ")
	if !found {
		limit, period = h.read("sys/fs/cgroup/cpu/cpu.cfs_quota_us"), h.read("sys/fs/cgroup/cpu/cpu.cfs_period_us")
	}
	l, err1 := strconv.ParseFloat(limit, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || l <= 0 || p <= 0 {
		return 0
	}
	return l / p
}

// Memory finds how much there is, is free, and is given by the container.
func Memory(_ context.Context, h *Host) Finding {
	m := memory.Of(h.Root)
	if m.Total == 0 {
		return Finding{State: Warn, Found: "unknown: /proc/meminfo cannot be read", Fix: "mount /proc"}
	}
	f := Finding{State: OK, Found: fmt.Sprintf("%s, %s available", display.FormatBytes(m.Total), display.FormatBytes(m.Left()))}
	if m.Limit > 0 {
		f.Found = fmt.Sprintf("%s, limited to %s by the container, %s available", display.FormatBytes(m.Total), display.FormatBytes(m.Limit), display.FormatBytes(m.Left()))
	}
	if m.Left() < 1<<30 {
		f.State, f.Fix = Warn, "less than 1 GiB is left: every rank holds its weights and its cache in memory"
	}
	return f
}

func size(n uint64) string { return display.FormatBytes(int64(min(n, 1<<62))) }

// Compiler finds the C compiler that the cpu backend would use.
func Compiler(ctx context.Context, h *Host) Finding {
	const fix = "a C compiler makes the cpu backend fast: install gcc or clang"
	if chosen := h.Env.First("FORGE_CC"); chosen != "" {
		return Program(fix+", or correct FORGE_CC", "--version", chosen)(ctx, h)
	}
	return Program(fix, "--version", "cc", "gcc", "clang")(ctx, h)
}

// Program finds the first of several programs and asks for its version.
func Program(fix, version string, names ...string) func(context.Context, *Host) Finding {
	return func(ctx context.Context, h *Host) Finding {
		for _, name := range names {
			path, err := h.LookPath(name)
			if err != nil {
				continue
			}
			out, err := h.Run(ctx, path, version)
			if err != nil {
				return Finding{State: Warn, Found: err.Error(), Fix: fix}
			}
			line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
			return Finding{State: OK, Found: line + " (" + path + ")"}
		}
		return Finding{State: Warn, Found: strings.Join(names, ", ") + ": not on PATH", Fix: fix}
	}
}

// Optional is a check of what nobody need miss.
func Optional(look func(context.Context, *Host) Finding) func(context.Context, *Host) Finding {
	return func(ctx context.Context, h *Host) Finding {
		f := look(ctx, h)
		f.State, f.Fix = OK, ""
		return f
	}
}

func (h *Host) set(variable string) bool { return h.Env.First(variable) != "" }

// arch is the name that libraries' folders have for this processor.
func arch() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64"
	}
	return "x86_64"
}
