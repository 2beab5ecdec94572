package launch

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Cores are the processors of this host as a rank sees them.
type Cores struct {
	Own    int // that this process may use: its affinity, within the container's quota
	Shared int // that all ranks here have together
}

// CoresHere looks at the host, whose files are below root ("/" as os.DirFS).
func CoresHere(root fs.FS) Cores {
	own := runtime.GOMAXPROCS(0)
	c := Cores{own, own}
	for _, path := range []string{"sys/fs/cgroup/cpuset.cpus.effective", "sys/fs/cgroup/cpuset/cpuset.effective_cpus", "sys/devices/system/cpu/online"} {
		text, err := fs.ReadFile(root, path)
		if err != nil {
			continue
		}
		if list, err := expandRanges(strings.TrimSpace(string(text))); err == nil {
			c.Shared = max(own, len(list))
			break
		}
	}
	return c
}

// binders are launchers that may give every rank processors of its own.
var binders = []string{"openmpi", "slurm", "pmi"}

// Threads is how many threads a rank should compute with, and why: a variable
// that says it, the processors that the launcher bound the rank to, or a fair
// share of the host's.
func (j Job) Threads(lookup Lookup, c Cores) (n int, why string, err error) {
	for _, name := range []string{"NEBULA_THREADS", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"} {
		text := lookup.First(name)
		if text == "" {
			continue
		}
		outer, _, _ := strings.Cut(text, ",") // OpenMP: one number a level of nesting
		if n, err = strconv.Atoi(outer); err != nil || n < 1 {
			return 0, "", fmt.Errorf("%s=%q is not a number of threads", name, text)
		}
		return n, name + "=" + text, nil
	}
	local := max(j.LocalSize, 1)
	if c.Own < c.Shared && local > 1 && slices.Contains(binders, j.Launcher) {
		return c.Own, fmt.Sprintf("%s bound the rank to %d of %d processors", j.Launcher, c.Own, c.Shared), nil
	}
	return max(c.Own/local, 1), fmt.Sprintf("%d processors, ranks on this host: %d", c.Own, local), nil
}
