package launch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// torchrunID is the run id together with the port of the run's store: without
// --rdzv-id all runs are called "none".
func torchrunID(l Lookup) string {
	id := l.First("TORCHELASTIC_RUN_ID")
	if port := l.First("MASTER_PORT"); id != "" && port != "" {
		id += "." + port
	}
	return id
}

func slurmID(l Lookup) string {
	job := l.First("SLURM_JOB_ID", "SLURM_JOBID")
	if job == "" {
		return ""
	}
	return job + "." + l.First("SLURM_STEP_ID")
}

// slurmPlace finds how many tasks this node has, and the node of task 0. The node
// that srun was called on comes last: it need not run a task.
func slurmPlace(l Lookup, j *Job) error {
	node, err := number(l, []string{"SLURM_NODEID"})
	if err != nil {
		return err
	}
	if tasks := l.First("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"); tasks != "" && node >= 0 {
		if j.LocalSize, err = tasksOn(tasks, node); err != nil {
			return fmt.Errorf("tasks per node %q: %w", tasks, err)
		}
	}
	list := l.First("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST")
	if list == "" {
		j.Address = l.First("SLURM_LAUNCH_NODE_IPADDR")
		return nil
	}
	hosts, err := expandHosts(list)
	if err != nil {
		return fmt.Errorf("node list %q: %w", list, err)
	}
	j.Address = hosts[0]
	return nil
}

// tasksOn reads Slurm's "4(x2),3": two nodes of 4 tasks, one of 3.
func tasksOn(list string, node int) (int, error) {
	before := 0
	for part := range strings.SplitSeq(list, ",") {
		count, times, repeated := strings.Cut(part, "(x")
		n, err := strconv.Atoi(count)
		nodes := 1
		if err == nil && repeated {
			if !strings.HasSuffix(times, ")") {
				return 0, errors.New("a bracket is missing")
			}
			nodes, err = strconv.Atoi(strings.TrimSuffix(times, ")"))
		}
		if err != nil || n < 0 || nodes < 1 {
			return 0, fmt.Errorf("%q is not a count", part)
		}
		if before += nodes; node < before {
			return n, nil
		}
	}
	return 0, fmt.Errorf("node %d is not in it", node)
}

// podJob is the name of the job that a pod's host name JOB-INDEX tells.
func podJob(l Lookup) string {
	job, found := strings.CutSuffix(l.First("HOSTNAME"), "-"+l.First("JOB_COMPLETION_INDEX"))
	if !found {
		return ""
	}
	return job
}

// podPlace is the place of a pod, which is one rank and shares no memory with
// another. A pod's name is JOB-INDEX below the headless service, in Indexed Jobs
// and in the jobs of a JobSet alike.
func podPlace(l Lookup, j *Job) error {
	j.LocalSize = 1
	if job, service := podJob(l), l.First("NEBULA_SERVICE"); job != "" && service != "" {
		j.Address = job + "-0." + service
	}
	return nil
}
