package launch

import (
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	tests := []struct {
		name string
		env  string // NAME=value, separated by spaces
		want Job
		err  string // a part of the error, instead of want
	}{
		{"by hand", "PATH=/bin", Job{Launcher: "none", Size: 1, LocalSize: 1}, ""},
		{"torchrun", "RANK=3 LOCAL_RANK=1 GROUP_RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2", Job{"torchrun", 3, 4, 1, 2}, ""},
		{"RANK alone is not torchrun", "RANK=3 WORLD_SIZE=4", Job{Launcher: "none", Size: 1, LocalSize: 1}, ""},
		{"Open MPI", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2", Job{"openmpi", 1, 2, 1, 2}, ""},
		{"srun step", "SLURM_STEP_ID=0 SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_LOCALID=1", Job{"slurm", 5, 8, 1, 0}, ""},
		{"bare sbatch script", "SLURM_PROCID=0 SLURM_NTASKS=8", Job{Launcher: "none", Size: 1, LocalSize: 1}, ""},
		{"Hydra", "PMI_RANK=0 PMI_SIZE=2 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=2", Job{"pmi", 0, 2, 0, 2}, ""},
		{"Indexed Job", "JOB_COMPLETION_INDEX=1 NEBULA_SIZE=2", Job{"kubernetes", 1, 2, 0, 0}, ""},
		{"Indexed Job without a size", "JOB_COMPLETION_INDEX=1", Job{}, "set NEBULA_SIZE"},
		{"mpirun inside srun", "SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2", Job{}, "openmpi and slurm"},
		{"an explicit place settles it", "NEBULA_RANK=0 NEBULA_SIZE=2 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=1", Job{"nebula", 0, 2, 0, 0}, ""},
		{"not a number", "NEBULA_RANK=x NEBULA_SIZE=2", Job{}, `NEBULA_RANK="x"`},
		{"rank outside the job", "NEBULA_RANK=2 NEBULA_SIZE=2", Job{}, "rank 2 of 2"},
		{"local rank outside the host", "NEBULA_RANK=1 NEBULA_SIZE=2 NEBULA_LOCAL_RANK=1 NEBULA_LOCAL_SIZE=1", Job{}, "local rank 1 of 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := map[string]string{}
			for _, pair := range strings.Fields(tt.env) {
				name, value, _ := strings.Cut(pair, "=")
				env[name] = value
			}
			got, err := Detect(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
			switch {
			case tt.err == "" && (err != nil || got != tt.want):
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("got %+v, %v; want an error with %q", got, err, tt.err)
			}
		})
	}
}
