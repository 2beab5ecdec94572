package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// smallShared is what Docker gives unless it is told more.
const smallShared = 64 << 20

func sharedMemory(_ context.Context, h *Host) Finding {
	const fix = "give the container more: docker run --shm-size=1g, or in a pod an emptyDir of medium Memory at /dev/shm"
	total, free, err := h.Space("/dev/shm")
	switch {
	case err != nil:
		return Finding{State: Warn, Found: "/dev/shm: " + err.Error(), Fix: fix + "; NCCL needs it"}
	case total <= smallShared || free < total/10:
		return Finding{State: Warn, Found: fmt.Sprintf("/dev/shm has %s, %s free", size(total), size(free)), Fix: fix + "; NCCL takes some MiB a channel"}
	}
	return Finding{State: OK, Found: fmt.Sprintf("/dev/shm has %s, %s free", size(total), size(free))}
}

func facilities(_ context.Context, h *Host) Finding {
	var works, broken, needs []string
	for _, k := range h.Kernel {
		if err := k.Try(); err != nil {
			broken = append(broken, fmt.Sprintf("no %s (%v)", k.Name, err))
			needs = append(needs, k.Name+" is for "+k.Need)
			continue
		}
		works = append(works, k.Name)
	}
	if len(broken) == 0 {
		return Finding{State: OK, Found: strings.Join(works, ", ")}
	}
	return Finding{State: Fail, Found: strings.Join(append(broken, works...), ", "),
		Fix: strings.Join(needs, "; ") + ": use a kernel, a sandbox or a seccomp profile that has them"}
}

// Ranks on several hosts listen at ports in this range, which follow from the job
// and its epoch.
const firstPort, lastPort = 20000, 31999

// ports examines whether the system gives ports of ranks to outgoing connections.
func ports(_ context.Context, h *Host) Finding {
	found := fmt.Sprintf("ranks on several hosts listen at %d to %d", firstPort, lastPort)
	fields := strings.Fields(h.read("proc/sys/net/ipv4/ip_local_port_range"))
	if len(fields) != 2 {
		return Finding{State: OK, Found: found}
	}
	low, err1 := strconv.Atoi(fields[0])
	high, err2 := strconv.Atoi(fields[1])
	if err1 == nil && err2 == nil && low <= lastPort && high >= firstPort {
		return Finding{State: Warn, Found: fmt.Sprintf("%s, of which the system gives away %d to %d", found, max(low, firstPort), min(high, lastPort)),
			Fix: "ports may be taken when a job starts: raise the first of net.ipv4.ip_local_port_range"}
	}
	return Finding{State: OK, Found: found}
}

// fewFiles is too few for the connections of a larger job.
const fewFiles = 1024

func limits(_ context.Context, h *Host) Finding {
	f := Finding{State: OK}
	var parts []string
	for _, l := range []struct {
		name     string
		resource int
	}{{"open files", unix.RLIMIT_NOFILE}, {"processes", unix.RLIMIT_NPROC}, {"locked memory", unix.RLIMIT_MEMLOCK}} {
		limit, err := h.Limit(l.resource)
		if err != nil {
			parts = append(parts, fmt.Sprintf("%s: %v", l.name, err))
			continue
		}
		value := strconv.FormatUint(limit.Cur, 10)
		switch {
		case limit.Cur == unix.RLIM_INFINITY:
			value = "no limit"
		case l.resource == unix.RLIMIT_MEMLOCK:
			value = size(limit.Cur)
		}
		parts = append(parts, l.name+": "+value)
		if l.resource == unix.RLIMIT_NOFILE && limit.Cur < fewFiles {
			f.State, f.Fix = Warn, fmt.Sprintf("raise the number of open files to %d or more: ulimit -n %d", fewFiles, fewFiles)
		}
	}
	f.Found = strings.Join(parts, ", ")
	return f
}
