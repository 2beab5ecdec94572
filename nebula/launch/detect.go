// Package launch finds out how the ranks of a job were started.
//
// Launchers are existing engines; each tells a process its place in the job
// through environment variables of its own. The table in this file holds what
// each one sets and the order in which they are asked. More than one launcher
// in one environment (mpirun inside srun, say) is refused, because their ranks
// disagree; NEBULA_* variables settle it.
package launch

import (
	"fmt"
	"strconv"
	"strings"

	"forgekernel/display"
)

// Lookup has the form of os.LookupEnv.
type Lookup func(name string) (string, bool)

// Job is a rank's place in a job.
type Job struct {
	Launcher  string // "torchrun", "slurm", ...; "none" when started by hand
	Rank      int    // 0 <= Rank < Size
	Size      int
	LocalRank int // rank among those of this host
	LocalSize int // ranks on this host; 0 when the launcher does not say
}

// launcher is one row of the table. Each field names the variables that may
// hold a number, best first.
type launcher struct {
	name                              string
	marks                             []string // all set: this launcher started us
	rank, size, localRank, localCount []string
}

// In order of trust: the explicit setting first, then launchers that wrap
// others. SLURM_STEP_ID tells an srun step from a bare batch script, which has
// rank 0 of N set but never gets the other ranks.
var launchers = []launcher{
	{
		name: "nebula", marks: []string{"NEBULA_RANK", "NEBULA_SIZE"},
		rank: []string{"NEBULA_RANK"}, size: []string{"NEBULA_SIZE"},
		localRank: []string{"NEBULA_LOCAL_RANK"}, localCount: []string{"NEBULA_LOCAL_SIZE"},
	},
	{
		name: "torchrun", marks: []string{"RANK", "LOCAL_RANK", "GROUP_RANK"},
		rank: []string{"RANK"}, size: []string{"WORLD_SIZE"},
		localRank: []string{"LOCAL_RANK"}, localCount: []string{"LOCAL_WORLD_SIZE"},
	},
	{
		name: "openmpi", marks: []string{"OMPI_COMM_WORLD_RANK"},
		rank: []string{"OMPI_COMM_WORLD_RANK"}, size: []string{"OMPI_COMM_WORLD_SIZE"},
		localRank: []string{"OMPI_COMM_WORLD_LOCAL_RANK"}, localCount: []string{"OMPI_COMM_WORLD_LOCAL_SIZE"},
	},
	{
		name: "slurm", marks: []string{"SLURM_STEP_ID", "SLURM_PROCID"},
		rank: []string{"SLURM_PROCID"}, size: []string{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
		localRank: []string{"SLURM_LOCALID"},
	},
	{
		name: "pmi", marks: []string{"PMI_RANK"},
		rank: []string{"PMI_RANK"}, size: []string{"PMI_SIZE"},
		localRank: []string{"MPI_LOCALRANKID", "PMI_LOCAL_RANK"}, localCount: []string{"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"},
	},
	{
		name: "kubernetes", marks: []string{"JOB_COMPLETION_INDEX"},
		rank: []string{"JOB_COMPLETION_INDEX"}, size: []string{"NEBULA_SIZE"},
	},
}

// Detect reads a job's place from an environment.
func Detect(lookup Lookup) (Job, error) {
	var found []launcher
	for _, l := range launchers {
		if l.present(lookup) {
			found = append(found, l)
		}
	}
	switch {
	case len(found) == 0:
		return Job{Launcher: "none", Size: 1, LocalSize: 1}, nil
	case len(found) > 1 && found[0].name != "nebula":
		return Job{}, fmt.Errorf("launched by both %s and %s, whose ranks may disagree: start with one of them, or set NEBULA_RANK and NEBULA_SIZE",
			found[0].name, found[1].name)
	}
	return found[0].read(lookup)
}

func (l launcher) present(lookup Lookup) bool {
	for _, name := range l.marks {
		if _, ok := lookup(name); !ok {
			return false
		}
	}
	return true
}

func (l launcher) read(lookup Lookup) (Job, error) {
	job := Job{Launcher: l.name}
	fields := []struct {
		what     string
		names    []string
		required bool
		into     *int
	}{
		{"rank", l.rank, true, &job.Rank},
		{"size", l.size, true, &job.Size},
		{"local rank", l.localRank, false, &job.LocalRank},
		{"local size", l.localCount, false, &job.LocalSize},
	}
	for _, f := range fields {
		n, err := number(lookup, f.names)
		switch {
		case err != nil:
			return Job{}, fmt.Errorf("%s: %w", l.name, err)
		case n < 0 && f.required:
			return Job{}, fmt.Errorf("%s does not say the %s: set %s", l.name, f.what, strings.Join(f.names, " or "))
		case n >= 0:
			*f.into = n
		}
	}
	if job.Rank >= job.Size {
		return Job{}, fmt.Errorf("%s: rank %d of %d", l.name, job.Rank, job.Size)
	}
	if job.LocalSize > 0 && job.LocalRank >= job.LocalSize {
		return Job{}, fmt.Errorf("%s: local rank %d of %d", l.name, job.LocalRank, job.LocalSize)
	}
	return job, nil
}

// number returns the value of the first variable that is set, or -1.
func number(lookup Lookup, names []string) (int, error) {
	for _, name := range names {
		text, ok := lookup(name)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%s=%q is not a count", name, text)
		}
		return n, nil
	}
	return -1, nil
}

// String says the place in one line.
func (j Job) String() string {
	if j.Launcher == "none" {
		return "no launcher: one rank"
	}
	return fmt.Sprintf("%s: rank %d of %d, local rank %d", j.Launcher, j.Rank, j.Size, j.LocalRank)
}

// Display shows the place in one line.
func (j Job) Display() display.Bundle { return display.Text(j.String()) }
