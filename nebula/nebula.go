// Package nebula is the public face of the distributed decoder runtime: what a
// Go cell or a command says when it means "these ranks".
//
// A job is a fixed set of ranks, each one process of the forge binary. An
// external launcher (torchrun, srun, mpirun, a Kubernetes Indexed Job) may
// start them and tells each its place through environment variables;
// [Launcher] reads that place.
package nebula

import (
	"os"

	"forgekernel/nebula/launch"
)

// Job is a rank's place in a job.
type Job = launch.Job

// Launcher reads from the process's environment which launcher started it and
// where this rank stands. Without a launcher the job has one rank.
func Launcher() (Job, error) { return launch.Detect(os.LookupEnv) }
