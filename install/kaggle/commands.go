package kaggle

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"forgekernel/install/bundle"
	"forgekernel/install/tool"
)

// These are the commands of a job, the same whether they are run or shown.

func (j *Job) datasetStatus() []string { return []string{"datasets", "status", j.dataset()} }

func (j *Job) datasetCreate() []string {
	return []string{"datasets", "create", "-p", j.datasetDir(), "-q"}
}

func (j *Job) datasetVersion() []string {
	return []string{"datasets", "version", "-p", j.datasetDir(), "-q", "-m", "job " + j.manifest.ID()[:12]}
}

func (j *Job) push() []string {
	args := []string{"kernels", "push", "-p", j.kernelDir()}
	if j.Accelerator != "" {
		args = append(args, "--accelerator", j.Accelerator)
	}
	if j.Timeout != 0 {
		args = append(args, "-t", strconv.Itoa(int(j.Timeout/time.Second)))
	}
	return args
}

func status(kernel string) []string { return []string{"kernels", "status", kernel} }

func logs(kernel string) []string { return []string{"kernels", "logs", kernel, "--follow"} }

func output(kernel, dir string) []string {
	return []string{"kernels", "output", kernel, "-p", dir, "-o", "-q"}
}

// Show prints the commands that Push would run, in their order.
func (j *Job) Show(w io.Writer) error {
	for _, line := range []struct {
		note string
		args []string
	}{
		{"the first says whether there is the dataset; one of the next two makes it what it should be", j.datasetStatus()},
		{"when there is none", j.datasetCreate()},
		{"else", j.datasetVersion()},
		{"until it is ready", j.datasetStatus()},
		{"the job", j.push()},
		{"until it has ended, again after a break", status(j.kernel())},
		{"", logs(j.kernel())},
		{"what it wrote", output(j.kernel(), bundle.Incoming(j.Output()))},
	} {
		if line.note != "" {
			fmt.Fprintln(w, "#", line.note)
		}
		if _, err := fmt.Fprintln(w, tool.Quote(append([]string{"kaggle"}, line.args...))); err != nil {
			return err
		}
	}
	return nil
}
