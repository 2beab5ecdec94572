package launch

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"forgekernel/display"
)

// Lookup has the form of os.LookupEnv.
type Lookup func(name string) (string, bool)

// First returns the first of some variables that is set and not empty.
func (l Lookup) First(names ...string) string {
	for _, name := range names {
		if text, ok := l(name); ok && text != "" {
			return text
		}
	}
	return ""
}

// Job is a rank's place in a job.
type Job struct {
	Launcher  string // "torchrun", "slurm", ...; "none" when started by hand
	Rank      int    // 0 <= Rank < Size
	Size      int
	LocalRank int    // rank among those of this host
	LocalSize int    // ranks on this host; 0 when the launcher does not say
	ID        string // the same in all ranks of the job, and in no other job; empty when the launcher does not say
	Epoch     uint32 // counts the starts of the job
	Address   string // the host of rank 0; empty when the launcher does not say
}

// OneHost reports whether all ranks are known to share this host.
func (j Job) OneHost() bool { return j.LocalSize == j.Size }

// launcher is one row of the table. Each field of names holds the variables that
// may hold a number, best first.
type launcher struct {
	name                              string
	marks                             []string // all set: this launcher started us
	rank, size, localRank, localCount []string
	epoch                             []string
	id                                func(Lookup) string
	more                              func(Lookup, *Job) error // what takes more than one variable; may be nil
	hint                              string                   // how to say where rank 0 is
}

// In order of trust: the explicit setting first, then launchers that wrap
// others. SLURM_STEP_ID tells an srun step from a bare batch script, which has
// rank 0 of N set but never gets the other ranks.
var launchers = []launcher{
	{
		name: "nebula", marks: []string{"NEBULA_RANK", "NEBULA_SIZE"},
		rank: []string{"NEBULA_RANK"}, size: []string{"NEBULA_SIZE"},
		localRank: []string{"NEBULA_LOCAL_RANK"}, localCount: []string{"NEBULA_LOCAL_SIZE"},
		id:   func(Lookup) string { return "" },
		hint: "set NEBULA_ADDRESS to its host",
	},
	{
		name: "torchrun", marks: []string{"RANK", "LOCAL_RANK", "GROUP_RANK"},
		rank: []string{"RANK"}, size: []string{"WORLD_SIZE"},
		localRank: []string{"LOCAL_RANK"}, localCount: []string{"LOCAL_WORLD_SIZE"},
		epoch: []string{"TORCHELASTIC_RESTART_COUNT"},
		id:    torchrunID,
		more:  func(l Lookup, j *Job) error { j.Address = l.First("MASTER_ADDR"); return nil },
		hint:  "torchrun sets MASTER_ADDR",
	},
	{
		name: "openmpi", marks: []string{"OMPI_COMM_WORLD_RANK"},
		rank: []string{"OMPI_COMM_WORLD_RANK"}, size: []string{"OMPI_COMM_WORLD_SIZE"},
		localRank: []string{"OMPI_COMM_WORLD_LOCAL_RANK"}, localCount: []string{"OMPI_COMM_WORLD_LOCAL_SIZE"},
		id:   func(l Lookup) string { return l.First("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid") },
		hint: "pass the host of rank 0 with mpirun -x NEBULA_ADDRESS=HOST",
	},
	{
		name: "slurm", marks: []string{"SLURM_STEP_ID", "SLURM_PROCID"},
		rank: []string{"SLURM_PROCID"}, size: []string{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
		localRank: []string{"SLURM_LOCALID"},
		epoch:     []string{"SLURM_RESTART_COUNT"},
		id:        slurmID,
		more:      slurmPlace,
		hint:      "srun sets SLURM_STEP_NODELIST",
	},
	{
		name: "pmi", marks: []string{"PMI_RANK"},
		rank: []string{"PMI_RANK"}, size: []string{"PMI_SIZE"},
		localRank: []string{"MPI_LOCALRANKID", "PMI_LOCAL_RANK"}, localCount: []string{"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"},
		id:   func(l Lookup) string { return l.First("PALS_APID", "PMI_JOBID") },
		hint: "pass the host of rank 0 with mpiexec -genv NEBULA_ADDRESS HOST",
	},
	{
		name: "kubernetes", marks: []string{"JOB_COMPLETION_INDEX"},
		rank: []string{"JOB_COMPLETION_INDEX"}, size: []string{"NEBULA_SIZE"},
		id:   podJob,
		more: podPlace,
		hint: "set NEBULA_SERVICE to the headless service of the job, or NEBULA_ADDRESS; forge nebula manifest writes both a job and its service",
	},
	{
		name: "leaderworkerset", marks: []string{"LWS_WORKER_INDEX", "LWS_GROUP_SIZE"},
		rank: []string{"LWS_WORKER_INDEX"}, size: []string{"LWS_GROUP_SIZE"},
		id: func(l Lookup) string { return l.First("LWS_LEADER_ADDRESS") },
		more: func(l Lookup, j *Job) error {
			j.LocalSize, j.Address = 1, l.First("LWS_LEADER_ADDRESS")
			return nil
		},
		hint: "the LeaderWorkerSet sets LWS_LEADER_ADDRESS",
	},
}

// launcherVariable names the launcher to believe.
const launcherVariable = "NEBULA_LAUNCHER"

// Detect reads a job's place from an environment. NEBULA_LAUNCHER, NEBULA_JOB,
// NEBULA_EPOCH and NEBULA_ADDRESS override what is found.
func Detect(lookup Lookup) (Job, error) {
	l, err := choose(lookup)
	if err != nil {
		return Job{}, err
	}
	if l == nil {
		return Job{Launcher: "none", Size: 1, LocalSize: 1}, nil
	}
	return l.read(lookup)
}

// choose returns the launcher to believe, nil when there is none.
func choose(lookup Lookup) (*launcher, error) {
	if name := lookup.First(launcherVariable); name != "" {
		return named(lookup, name)
	}
	var found []*launcher
	for i := range launchers {
		if launchers[i].present(lookup) {
			found = append(found, &launchers[i])
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	inner := found[0]
	if inner.name == "nebula" {
		return inner, nil
	}
	for _, outer := range found[1:] {
		if !agree(lookup, inner, outer) {
			return nil, fmt.Errorf("launched by both %s and %s, whose ranks disagree: start with one of them, or set %s to the one that counts",
				inner.name, outer.name, launcherVariable)
		}
	}
	return inner, nil
}

func named(lookup Lookup, name string) (*launcher, error) {
	names := []string{"none"}
	for i, l := range launchers {
		if l.name == name {
			if !l.present(lookup) {
				return nil, fmt.Errorf("%s=%s, but %s did not start this process: %s is not set", launcherVariable, name, name, strings.Join(l.marks, " or "))
			}
			return &launchers[i], nil
		}
		names = append(names, l.name)
	}
	if name == "none" {
		return nil, nil
	}
	return nil, fmt.Errorf("%s=%q is none of %s", launcherVariable, name, strings.Join(names, ", "))
}

// agree reports whether two launchers give this process the same place. Torchrun
// wraps others by design: they start its supervisors, one a host, and it numbers
// these as groups.
func agree(lookup Lookup, inner, outer *launcher) bool {
	same := func(rank, size []string) bool {
		r, err1 := number(lookup, rank)
		s, err2 := number(lookup, size)
		or, err3 := number(lookup, outer.rank)
		os, err4 := number(lookup, outer.size)
		return errors.Join(err1, err2, err3, err4) == nil && r == or && (s == os || os < 0)
	}
	return same(inner.rank, inner.size) ||
		inner.name == "torchrun" && same([]string{"GROUP_RANK"}, []string{"GROUP_WORLD_SIZE"})
}

func (l *launcher) present(lookup Lookup) bool {
	return !slices.ContainsFunc(l.marks, func(name string) bool { _, ok := lookup(name); return !ok })
}

func (l *launcher) read(lookup Lookup) (Job, error) {
	job := Job{Launcher: l.name}
	if err := l.readPlace(lookup, &job); err != nil {
		return Job{}, fmt.Errorf("%s: %w", l.name, err)
	}
	job.ID = lookup.First("NEBULA_JOB")
	if job.ID == "" {
		job.ID = l.id(lookup)
	}
	epoch, err := number(lookup, append([]string{"NEBULA_EPOCH"}, l.epoch...))
	if err == nil && epoch > math.MaxUint32 {
		err = fmt.Errorf("epoch %d is too large", epoch)
	}
	if err != nil {
		return Job{}, fmt.Errorf("%s: %w", l.name, err)
	}
	job.Epoch = uint32(max(epoch, 0))
	if address := lookup.First("NEBULA_ADDRESS"); address != "" {
		job.Address = address
	}
	// The port follows from the job and its epoch. MASTER_PORT of torchrun, say, is
	// its own: its store may listen there.
	if _, _, err := net.SplitHostPort(job.Address); err == nil || strings.ContainsAny(job.Address, " /@[]") {
		return Job{}, fmt.Errorf("%s: the address of rank 0, %q, is to be a host, without a port", l.name, job.Address)
	}
	return job, nil
}

func (l *launcher) readPlace(lookup Lookup, job *Job) error {
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
			return err
		case n < 0 && f.required:
			return fmt.Errorf("the %s is not said: set %s", f.what, strings.Join(f.names, " or "))
		case n >= 0:
			*f.into = n
		}
	}
	if job.Rank >= job.Size {
		return fmt.Errorf("rank %d of %d", job.Rank, job.Size)
	}
	if l.more != nil {
		if err := l.more(lookup, job); err != nil {
			return err
		}
	}
	if job.LocalSize > 0 && job.LocalRank >= job.LocalSize {
		return fmt.Errorf("local rank %d of %d", job.LocalRank, job.LocalSize)
	}
	if job.LocalSize > job.Size {
		return fmt.Errorf("%d ranks on this host, but %d in all", job.LocalSize, job.Size)
	}
	return nil
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

// hint is how to say where rank 0 is.
func (j Job) hint() string {
	for _, l := range launchers {
		if l.name == j.Launcher {
			return l.hint
		}
	}
	return "set NEBULA_ADDRESS"
}

// String says the place in one line.
func (j Job) String() string {
	if j.Launcher == "none" {
		return "no launcher: one rank"
	}
	s := fmt.Sprintf("%s: rank %d of %d, local rank %d", j.Launcher, j.Rank, j.Size, j.LocalRank)
	if j.LocalSize > 0 {
		s += fmt.Sprintf(" of %d", j.LocalSize)
	}
	if j.ID != "" {
		s += fmt.Sprintf(", job %s, epoch %d", j.ID, j.Epoch)
	}
	return s
}

// Display shows the place in one line.
func (j Job) Display() display.Bundle { return display.Text(j.String()) }
