package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// environ makes a Lookup of NAME=value pairs, separated by spaces or lines.
func environ(pairs string) Lookup {
	env := map[string]string{}
	for _, pair := range strings.Fields(pairs) {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

const (
	openmpi2 = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=150798337"
	slurm8   = "SLURM_STEP_ID=2 SLURM_JOB_ID=71 SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_NTASKS=9 SLURM_LOCALID=1 SLURM_NODEID=1 SLURM_STEP_TASKS_PER_NODE=4(x2) SLURM_STEP_NODELIST=n[07-08] SLURM_JOB_NODELIST=n[05-08]"
	torch4   = "RANK=3 LOCAL_RANK=1 GROUP_RANK=1 GROUP_WORLD_SIZE=2 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR=n07 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=1"
	pod2     = "JOB_COMPLETION_INDEX=1 NEBULA_SIZE=2 HOSTNAME=decode-1"
)

func TestDetect(t *testing.T) {
	none := Job{Launcher: "none", Size: 1, LocalSize: 1}
	slurm := Job{"slurm", 5, 8, 1, 4, "71.2", 0, "n07"}
	torch := Job{"torchrun", 3, 4, 1, 2, "none.29500", 1, "n07"}
	tests := []struct {
		name string
		env  string
		want Job
		err  string // a part of the error, instead of want
	}{
		{"by hand", "PATH=/bin", none, ""},
		{"torchrun", torch4, torch, ""},
		{"RANK alone is not torchrun", "RANK=3 WORLD_SIZE=4", none, ""},
		{"Open MPI", openmpi2, Job{"openmpi", 1, 2, 1, 2, "150798337", 0, ""}, ""},
		{"srun step", slurm8, slurm, ""},
		{"srun step without lists", "SLURM_STEP_ID=0 SLURM_JOB_ID=1 SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_LAUNCH_NODE_IPADDR=10.0.0.2", Job{"slurm", 0, 8, 0, 0, "1.0", 0, "10.0.0.2"}, ""},
		{"srun step with a broken list", "SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_STEP_NODELIST=n[1", Job{}, `node list "n[1"`},
		{"srun step with broken counts", "SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_NODEID=2 SLURM_TASKS_PER_NODE=4(x2)", Job{}, "node 2 is not in it"},
		{"bare sbatch script", "SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_JOB_ID=71", none, ""},
		{"Hydra", "PMI_RANK=0 PMI_SIZE=2 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=2", Job{"pmi", 0, 2, 0, 2, "", 0, ""}, ""},
		{"Hydra with a name", "PMI_RANK=0 PMI_SIZE=2 NEBULA_JOB=night NEBULA_EPOCH=3 NEBULA_ADDRESS=n1", Job{"pmi", 0, 2, 0, 0, "night", 3, "n1"}, ""},
		{"an address with a port", "PMI_RANK=0 PMI_SIZE=2 NEBULA_ADDRESS=n1:4000", Job{}, "without a port"},
		{"an IPv6 address", "PMI_RANK=0 PMI_SIZE=2 NEBULA_ADDRESS=fd00::1", Job{"pmi", 0, 2, 0, 0, "", 0, "fd00::1"}, ""},
		{"an address in brackets", "PMI_RANK=0 PMI_SIZE=2 NEBULA_ADDRESS=[fd00::1]", Job{}, "without a port"},
		{"Indexed Job", pod2, Job{"kubernetes", 1, 2, 0, 1, "decode", 0, ""}, ""},
		{"Indexed Job with a service", pod2 + " NEBULA_SERVICE=ranks NEBULA_JOB=4be1", Job{"kubernetes", 1, 2, 0, 1, "4be1", 0, "decode-0.ranks"}, ""},
		{"JobSet, started again", "JOB_COMPLETION_INDEX=1 NEBULA_SIZE=2 HOSTNAME=decode-ranks-0-1 NEBULA_SERVICE=decode NEBULA_EPOCH=2", Job{"kubernetes", 1, 2, 0, 1, "decode-ranks-0", 2, "decode-ranks-0-0.decode"}, ""},
		{"Indexed Job without a size", "JOB_COMPLETION_INDEX=1", Job{}, "set NEBULA_SIZE"},
		{"LeaderWorkerSet", "LWS_WORKER_INDEX=2 LWS_GROUP_SIZE=4 LWS_LEADER_ADDRESS=d-0.d.default", Job{"leaderworkerset", 2, 4, 0, 1, "d-0.d.default", 0, "d-0.d.default"}, ""},
		{"mpirun inside srun", slurm8 + " " + openmpi2, Job{}, "both openmpi and slurm"},
		{"mpirun inside srun, told", slurm8 + " " + openmpi2 + " NEBULA_LAUNCHER=slurm", slurm, ""},
		{"none of them, told", slurm8 + " " + openmpi2 + " NEBULA_LAUNCHER=none", none, ""},
		{"one that is not there, told", slurm8 + " NEBULA_LAUNCHER=torchrun", Job{}, "torchrun did not start this process: RANK or"},
		{"one that is none", "NEBULA_LAUNCHER=lsf", Job{}, `"lsf" is none of none, nebula, torchrun, openmpi, slurm, pmi, kubernetes, leaderworkerset`},
		{"torchrun on every node of a step", torch4 + " SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2", torch, ""},
		{"torchrun in every pod", torch4 + " JOB_COMPLETION_INDEX=1", torch, ""},
		{"torchrun in another pod", torch4 + " JOB_COMPLETION_INDEX=0", Job{}, "both torchrun and kubernetes"},
		{"Slurm's own PMI", slurm8 + " PMI_RANK=5 PMI_SIZE=8", slurm, ""},
		{"an explicit place settles it", "NEBULA_RANK=0 NEBULA_SIZE=2 " + slurm8, Job{"nebula", 0, 2, 0, 0, "", 0, ""}, ""},
		{"not a number", "NEBULA_RANK=x NEBULA_SIZE=2", Job{}, `NEBULA_RANK="x"`},
		{"an epoch that is none", "NEBULA_RANK=0 NEBULA_SIZE=2 NEBULA_EPOCH=99999999999", Job{}, "too large"},
		{"rank outside the job", "NEBULA_RANK=2 NEBULA_SIZE=2", Job{}, "rank 2 of 2"},
		{"local rank outside the host", "NEBULA_RANK=1 NEBULA_SIZE=2 NEBULA_LOCAL_RANK=1 NEBULA_LOCAL_SIZE=1", Job{}, "local rank 1 of 1"},
		{"more ranks here than in all", "NEBULA_RANK=1 NEBULA_SIZE=2 NEBULA_LOCAL_RANK=1 NEBULA_LOCAL_SIZE=3", Job{}, "3 ranks on this host"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Detect(environ(tt.env))
			switch {
			case tt.err == "" && (err != nil || got != tt.want):
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("got %+v, %v; want an error with %q", got, err, tt.err)
			}
		})
	}
}

// The environments are those that torchrun 2.15, mpirun 4.1.4 and srun 22.05 gave
// a rank.
func TestDetectRecorded(t *testing.T) {
	for file, want := range map[string]Job{
		"torchrun-1host.env": {"torchrun", 1, 2, 1, 2, "8a5ade42-2c93-4d80-babc-2771f22cb607.35895", 0, "localhost"},
		"openmpi-1host.env":  {"openmpi", 1, 2, 1, 2, "150798337", 0, ""},
		"slurm-1host.env":    {"slurm", 1, 4, 1, 4, "1.0", 0, "node1"},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Detect(environ(string(text)))
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", file, got, err, want)
		}
		if host, err := got.Host(); err != nil || host != "" {
			t.Errorf("%s: %q, %v; all ranks are on one host", file, host, err)
		}
	}
}

func TestHost(t *testing.T) {
	for _, c := range []struct{ name, env, want, err string }{
		{"one host", openmpi2, "", ""},
		{"several hosts", slurm8, "n07", ""},
		{"torchrun", torch4, "n07", ""},
		{"another one", slurm8 + " NEBULA_ADDRESS=10.0.0.7", "10.0.0.7", ""},
		{"pods", pod2 + " NEBULA_SERVICE=ranks", "decode-0.ranks", ""},
		{"pods without a service", pod2, "", "NEBULA_SERVICE"},
		{"mpirun over hosts", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=1", "", "-x NEBULA_ADDRESS"},
		{"no name", "PMI_RANK=0 PMI_SIZE=2", "", "set NEBULA_JOB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job, err := Detect(environ(c.env))
			if err != nil {
				t.Fatal(err)
			}
			host, err := job.Host()
			switch {
			case c.err == "" && (err != nil || host != c.want):
				t.Errorf("%q, %v; want %q", host, err, c.want)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("%q, %v; want an error with %q", host, err, c.err)
			}
		})
	}
}

func TestExpandHosts(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"n1", "n1"},
		{"n[10,20-22]", "n10 n20 n21 n22"},
		{"a,n[08-11],b", "a n08 n09 n10 n11 b"},
		{"rack[0-1]n[1-2]-x", "rack0n1-x rack0n2-x rack1n1-x rack1n2-x"},
		{"[1-2]", "1 2"},
	} {
		if got, err := expandHosts(c.in); err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%q: %v, %v; want %s", c.in, got, err, c.want)
		}
	}
	for _, bad := range []string{"", ",", "a,", ",a", "n[", "n[]", "n[1", "n[2-1]", "n[a-b]", "n]1", "n[1-99999999]", "n[0-999][0-999]", "n[1-99999999999999999999]", "a b"} {
		if got, err := expandHosts(bad); err == nil {
			t.Errorf("%q: %d hosts", bad, len(got))
		}
	}
}

func FuzzExpandHosts(f *testing.F) {
	for _, s := range []string{"n[10,20-22]", "rack[0-1]n[00-03],x", "n[", "a,,b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		hosts, err := expandHosts(list)
		if err == nil && (len(hosts) == 0 || len(hosts) > maxHosts) {
			t.Errorf("%q: %d hosts", list, len(hosts))
		}
	})
}

func FuzzTasksOn(f *testing.F) {
	f.Add("4(x2),3", 2)
	f.Add("4(x", 0)
	f.Fuzz(func(t *testing.T, list string, node int) {
		if n, err := tasksOn(list, node); err == nil && n < 0 {
			t.Errorf("%q: %d tasks", list, n)
		}
	})
}

func TestThreads(t *testing.T) {
	job := func(launcher string, local int) Job { return Job{Launcher: launcher, Size: 8, LocalSize: local} }
	for _, c := range []struct {
		job   Job
		env   string
		cores Cores
		want  int
		why   string
	}{
		{job("nebula", 2), "", Cores{8, 8}, 4, "8 processors, ranks on this host: 2"},
		{job("nebula", 3), "", Cores{2, 2}, 1, "ranks on this host: 3"},
		{job("nebula", 2), "", Cores{4, 8}, 2, "4 processors"}, // all share what the parent was bound to
		{job("nebula", 0), "", Cores{4, 8}, 4, "this host: 1"},
		{job("openmpi", 2), "", Cores{1, 8}, 1, "openmpi bound"},
		{job("slurm", 4), "", Cores{8, 8}, 2, "this host: 4"},
		{job("slurm", 4), "SLURM_CPUS_PER_TASK=3", Cores{8, 8}, 3, "SLURM_CPUS_PER_TASK=3"},
		{job("torchrun", 2), "OMP_NUM_THREADS=1", Cores{8, 8}, 1, "OMP_NUM_THREADS=1"},
		{job("torchrun", 2), "OMP_NUM_THREADS=3,2", Cores{8, 8}, 3, "OMP_NUM_THREADS=3,2"},
		{job("torchrun", 2), "OMP_NUM_THREADS=1 NEBULA_THREADS=5", Cores{8, 8}, 5, "NEBULA_THREADS=5"},
	} {
		n, why, err := c.job.Threads(environ(c.env), c.cores)
		if err != nil || n != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%+v with %q on %+v: %d, %q, %v; want %d, %q", c.job, c.env, c.cores, n, why, err, c.want, c.why)
		}
	}
	if _, _, err := job("nebula", 1).Threads(environ("NEBULA_THREADS=0"), Cores{1, 1}); err == nil {
		t.Error("0 threads")
	}
	if c := CoresHere(os.DirFS("/")); c.Own < 1 || c.Shared < c.Own {
		t.Errorf("%+v", c)
	}
}
