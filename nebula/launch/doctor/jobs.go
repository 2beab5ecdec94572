package doctor

import (
	"context"
	"fmt"
	"strings"

	"forgekernel/display"
	"forgekernel/nebula/launch"
)

// Launcher finds who started this process, and where it stands in the job.
func Launcher(_ context.Context, h *Host) Finding {
	job, err := launch.Detect(h.Env)
	if err != nil {
		return Finding{State: Fail, Found: err.Error(), Fix: "start all ranks with one launcher, or correct the variables it sets"}
	}
	if job.Launcher == "none" {
		return Finding{State: OK, Found: "none; jobs start their own ranks on this host"}
	}
	f := Finding{State: OK, Found: job.String()}
	switch {
	case job.OneHost():
		f.Found += ", all on this host"
	case job.LocalSize == 0:
		f.State, f.Fix = Warn, "the launcher does not say how many ranks share this host: set NEBULA_LOCAL_RANK and NEBULA_LOCAL_SIZE"
	}
	return f
}

// meeting examines whether the ranks would find one another.
func meeting(_ context.Context, h *Host) Finding {
	job, err := launch.Detect(h.Env)
	switch {
	case err != nil:
		return Finding{State: Fail, Found: "the place of this rank is not known", Fix: "see launcher"}
	case job.Launcher == "none":
		return Finding{State: OK, Found: "of a job's own ranks, at sockets of this host"}
	}
	host, err := job.Host()
	switch {
	case err != nil:
		return Finding{State: Fail, Found: err.Error(), Fix: "set what the error names, in all ranks"}
	case host == "":
		return Finding{State: OK, Found: "at sockets of this host"}
	}
	return Finding{State: OK, Found: "at host " + host}
}

func threads(_ context.Context, h *Host) Finding {
	job, err := launch.Detect(h.Env)
	if err != nil {
		job = launch.Job{LocalSize: 1, Size: 1}
	}
	n, why, err := job.Threads(h.Env, h.Cores)
	if err != nil {
		return Finding{State: Fail, Found: err.Error(), Fix: "correct or unset it"}
	}
	f := Finding{State: OK, Found: fmt.Sprintf("%d a rank: %s", n, why)}
	if n*max(job.LocalSize, 1) > h.Cores.Shared {
		f.State, f.Fix = Warn, fmt.Sprintf("%s of %s share %s: set NEBULA_THREADS to fewer, or start fewer ranks", display.Count(max(job.LocalSize, 1), "rank"), display.Count(n, "thread"), display.Count(h.Cores.Shared, "processor"))
	}
	if job.Launcher == "torchrun" && why == "OMP_NUM_THREADS=1" && h.Cores.Own > job.LocalSize {
		f.State, f.Fix = Warn, "torchrun sets OMP_NUM_THREADS=1 when it is not set: set it, or NEBULA_THREADS, to use more processors"
	}
	return f
}

// runFolder examines where jobs are recorded.
func runFolder(_ context.Context, h *Host) Finding {
	folder, err := h.Folder()
	if err != nil {
		return Finding{State: Fail, Found: err.Error(), Fix: "set XDG_RUNTIME_DIR to a folder of your own"}
	}
	_, free, err := h.Space(string(folder))
	switch {
	case err != nil:
		return Finding{State: Warn, Found: fmt.Sprintf("%s: %v", folder, err), Fix: "set XDG_RUNTIME_DIR to a folder that works"}
	case free < launch.LogSize:
		return Finding{State: Warn, Found: fmt.Sprintf("%s, %s free", folder, size(free)), Fix: "logs of ranks will be cut: free some space, or set XDG_RUNTIME_DIR"}
	}
	return Finding{State: OK, Found: fmt.Sprintf("%s, %s free", folder, size(free))}
}

// earlierJobs examines what other jobs run, and what is left of those that ended.
func earlierJobs(_ context.Context, h *Host) Finding {
	folder, err := h.Folder()
	if err != nil {
		return Finding{State: Fail, Found: "unknown", Fix: "see run folder"}
	}
	jobs, err := folder.Jobs()
	var running, left []string
	for _, j := range jobs {
		if j.Orphaned() {
			left = append(left, j.Job)
			continue
		}
		running = append(running, fmt.Sprintf("%s (%s)", j.Job, display.Count(len(j.Ranks), "rank")))
	}
	f := Finding{State: OK, Found: "none"}
	var parts []string
	if len(running) > 0 {
		parts = append(parts, "running: "+strings.Join(running, ", "))
	}
	if len(left) > 0 {
		parts = append(parts, "left behind: "+strings.Join(left, ", "))
		f.State, f.Fix = Warn, "forge nebula ps, or the next job, ends what is left and removes the records"
	}
	if err != nil {
		parts = append(parts, err.Error())
		f.State, f.Fix = Warn, "remove the folders of records that cannot be read"
	}
	if len(parts) > 0 {
		f.Found = strings.Join(parts, "; ")
	}
	return f
}
