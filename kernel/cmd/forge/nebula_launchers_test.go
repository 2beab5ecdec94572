package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// under runs a command line of this build in an environment, perhaps below a launcher.
func under(ctx context.Context, t *testing.T, env, launcher []string, args string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := append(append(launcher[:len(launcher):len(launcher)], self), strings.Fields(args)...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), asForge+"=1", "XDG_STATE_HOME="+t.TempDir()), env...)
	cmd.WaitDelay = time.Second
	return cmd
}

const launched = "nebula generate --ids 1,2,3 -n 8" + tinyModel

// Where every process runs the same command, rank 0 prints what one process does, and
// the others nothing. The variables are those that launchers set.
func TestRanksOfVariables(t *testing.T) {
	want := runForge(t, launched)
	id := strings.ReplaceAll(t.TempDir(), "/", "-") // no other run's
	for name, env := range map[string]string{
		"slurm":    "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=%[1]d SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=%[1]d SLURM_STEP_TASKS_PER_NODE=2 SLURM_NODEID=0 SLURM_NNODES=1 SLURM_STEP_NODELIST=localhost NEBULA_JOB=s" + id,
		"torchrun": "RANK=%[1]d WORLD_SIZE=2 LOCAL_RANK=%[1]d LOCAL_WORLD_SIZE=2 GROUP_RANK=0 GROUP_WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=1 TORCHELASTIC_RUN_ID=t" + id,
		"nebula":   "NEBULA_RANK=%[1]d NEBULA_SIZE=2 NEBULA_LOCAL_RANK=%[1]d NEBULA_LOCAL_SIZE=2 NEBULA_JOB=n" + id,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var out, told [2]bytes.Buffer
			var ranks [2]*exec.Cmd
			for i := range ranks {
				ranks[i] = under(ctx, t, strings.Fields(fmt.Sprintf(env, i)), nil, launched+"--tp 2")
				ranks[i].Stdout, ranks[i].Stderr = &out[i], &told[i]
				if err := ranks[i].Start(); err != nil {
					t.Fatal(err)
				}
			}
			for i, r := range ranks {
				if err := r.Wait(); err != nil {
					t.Errorf("rank %d: %v: %s", i, err, told[i].String())
				}
			}
			if out[0].String() != want.stdout || out[1].Len()+told[1].Len() > 0 || !strings.Contains(told[0].String(), ", "+name) {
				t.Errorf("rank 0 prints %q and %q, not %q; rank 1 %q and %q", out[0].String(), told[0].String(), want.stdout, out[1].String(), told[1].String())
			}
		})
	}
}

// checkLauncher runs the command on two ranks of a launcher, and one that fails.
func checkLauncher(t *testing.T, launcher ...string) {
	t.Helper()
	want := runForge(t, launched)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := under(ctx, t, nil, launcher, launched+"--tp 2")
	var told bytes.Buffer
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil || string(out) != want.stdout || strings.Count(told.String(), "8 tokens after 3") != 1 {
		t.Errorf("%v prints %q and %q, not %q; %v", launcher, out, told.String(), want.stdout, err)
	}
	out, err = under(ctx, t, nil, launcher, launched+"--tp 3").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "TP 3, PP 1 has 3 ranks") {
		t.Errorf("%v with a rank too few: %v: %s", launcher, err, out)
	}
}

func TestGenerateUnderMpirun(t *testing.T) {
	if testing.Short() {
		t.Skip("launchers take seconds to start")
	}
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("mpirun is not installed")
	}
	version, _ := exec.Command(mpirun, "--version").Output()
	if !bytes.Contains(version, []byte("Open MPI")) && !bytes.Contains(version, []byte("OpenRTE")) {
		t.Skip("mpirun is not Open MPI's: its options differ")
	}
	checkLauncher(t, mpirun, "--allow-run-as-root", "--oversubscribe", "-np", "2")
}

// PyTorch is large; "make peers" installs it, and this test is told where.
func TestGenerateUnderTorchrun(t *testing.T) {
	python := os.Getenv("NEBULA_TEST_TORCH_PYTHON")
	if python == "" {
		t.Skip("NEBULA_TEST_TORCH_PYTHON names no Python that has PyTorch")
	}
	checkLauncher(t, python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--no-python")
}
