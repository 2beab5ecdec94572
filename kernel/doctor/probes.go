package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"forgekernel/display"
	host "forgekernel/nebula/launch/doctor"
)

func kernel(context.Context, *host.Host) host.Finding {
	return host.Finding{State: host.OK, Found: fmt.Sprintf("built with %s for %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)}
}

// jupyter finds the server that started this kernel, or else one on PATH.
func jupyter(ctx context.Context, h *host.Host) host.Finding {
	if parent := os.Getenv("JPY_PARENT_PID"); parent != "" {
		if command, err := commandOf(parent); err == nil {
			return host.Finding{State: host.OK, Found: "this kernel was started by " + command}
		}
	}
	return host.Program("pip install jupyterlab; without it, forge notebook run executes notebooks", "--version", "jupyter-lab", "jupyter")(ctx, h)
}

// commandOf is the command line of a process that is not this program itself,
// as it is under forge notebook run.
func commandOf(pid string) (string, error) {
	if _, err := strconv.ParseUint(pid, 10, 32); err != nil {
		return "", err
	}
	own, err := os.Executable()
	if other, _ := os.Readlink("/proc/" + pid + "/exe"); err == nil && other == own {
		return "", errors.New("it is not Jupyter")
	}
	raw, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if err == nil && len(raw) == 0 {
		err = errors.New("it has ended")
	}
	return strings.TrimSpace(strings.ReplaceAll(string(raw), "\x00", " ")), err
}

// cache examines where compiled kernels are kept.
func cache(_ context.Context, h *host.Host) host.Finding {
	base, err := os.UserCacheDir()
	if err != nil {
		return host.Finding{State: host.Warn, Found: err.Error(), Fix: "set XDG_CACHE_HOME or HOME"}
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
		return host.Finding{State: host.Warn, Found: fmt.Sprintf("%s is not writable: %v", at, err), Fix: "set XDG_CACHE_HOME to a writable directory"}
	}
	_, free, err := h.Space(at)
	if err != nil {
		return host.Finding{State: host.OK, Found: dir + ": " + err.Error()}
	}
	return host.Finding{State: host.OK, Found: fmt.Sprintf("%s, %s free", dir, display.FormatBytes(int64(free)))}
}
