package front

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"forgekernel/kernel/wire"
	"forgekernel/nebula/memory"
)

const banner = `Forge workbench: cells are Go, or ForgeScript when they begin with def.
forge, nebula, display and the standard library need no import. %lsmagic lists the magics, name? explains a name.`

// kernelInfo needs nothing of the session, so that it is answered at once.
func (f *front) kernelInfo(context.Context, *request) (any, error) {
	return wire.KernelInfoReply{
		Status:                wire.StatusOK,
		ProtocolVersion:       wire.Version,
		Implementation:        "forge",
		ImplementationVersion: f.cfg.Version,
		LanguageInfo: wire.LanguageInfo{
			Name:           "go",
			Version:        strings.TrimPrefix(runtime.Version(), "go"),
			MIMEType:       "text/x-go",
			FileExtension:  ".go",
			PygmentsLexer:  "go",
			CodeMirrorMode: "go",
			NBConvert:      "script",
		},
		Banner:            banner,
		SupportedFeatures: wire.List[string]{"debugger", "kernel subshells"},
		Debugger:          true,
		HelpLinks: wire.List[wire.Link]{
			{Text: "Go: language", URL: "https://go.dev/ref/spec"},
			{Text: "Go: standard library", URL: "https://pkg.go.dev/std"},
			{Text: "Gonum", URL: "https://pkg.go.dev/gonum.org/v1/gonum"},
		},
	}, nil
}

// meter remembers processor times between usage requests, since a percentage is
// a difference.
type meter struct {
	mu          sync.Mutex
	at          time.Time
	used        float64 // seconds of our processes
	busy, total float64 // ticks of the host
}

// usage reports what front and session use and what the host has.
func (f *front) usage(context.Context, *request) (any, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	held, used, err := usageOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	pid := os.Getpid()
	if s := f.supervisor.now(); s != nil {
		if m, u, err := usageOf(s.process.pid()); err == nil {
			held, used, pid = held+m, used+u, s.process.pid()
		}
	}
	busy, total, err := hostTimes()
	if err != nil {
		return nil, err
	}
	available, err := hostMemory()
	if err != nil {
		return nil, err
	}
	kernel, whole := f.meter.read(time.Now(), used, busy, total)
	return wire.UsageReply{
		Hostname: host, PID: pid, CPUCount: runtime.NumCPU(),
		KernelCPU: kernel, KernelMemory: held, HostCPU: whole, HostVirtual: available,
	}, nil
}

// read returns the percentages since the last reading: of one core for us, of
// all for the host. The first reading has nothing to compare with and gives 0.
func (m *meter) read(now time.Time, used, busy, total float64) (kernel, host float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if elapsed := now.Sub(m.at).Seconds(); !m.at.IsZero() && elapsed > 0 {
		kernel = max(0, 100*(used-m.used)/elapsed) // a new session starts from 0
		if total > m.total {
			host = max(0, 100*(busy-m.busy)/(total-m.total))
		}
	}
	m.at, m.used, m.busy, m.total = now, used, busy, total
	return kernel, host
}

// hostTimes reads the first line of /proc/stat: user nice system idle iowait …
func hostTimes() (busy, total float64, err error) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("/proc/stat: unexpected format")
	}
	for i, field := range fields[1:min(len(fields), 9)] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/stat: %w", err)
		}
		total += ticks
		if i != 3 && i != 4 {
			busy += ticks
		}
	}
	return busy, total, nil
}

func hostMemory() (wire.Memory, error) {
	host := memory.Of(os.DirFS("/"))
	if host.Total == 0 {
		return wire.Memory{}, errors.New("/proc/meminfo does not say how much memory there is")
	}
	used := host.Total - host.Available
	return wire.Memory{
		Total: host.Total, Available: host.Available, Free: host.Free,
		Used: used, Percent: 100 * float64(used) / float64(host.Total),
	}, nil
}
