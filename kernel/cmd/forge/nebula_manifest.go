package main

import (
	"io"

	"github.com/spf13/cobra"

	"forgekernel/nebula/launch/manifest"
)

func nebulaManifestCommand() *cobra.Command {
	var s manifest.Spec
	var out string
	cmd := &cobra.Command{
		Use:   "manifest --image IMAGE --ranks N [flags] -- COMMAND...",
		Short: "Write what Kubernetes needs to start the ranks of a job",
		Long: `Manifest writes an Indexed Job with its headless service, or a JobSet, as YAML for
kubectl apply -f. Every rank is a pod that runs COMMAND in IMAGE and finds its place
by the variables that the manifest sets.`,
		Example: `  forge nebula manifest --image example.com/forge:1 --ranks 4 -- forge nebula doctor | kubectl apply -f -`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Command = args
			if err := s.Check(); err != nil {
				return usageError{err}
			}
			return writeTo(cmd, out, func(w io.Writer) error { return manifest.Write(w, s) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.Kind, "kind", manifest.Job, "job (an Indexed Job) or jobset")
	f.StringVar(&s.Name, "name", "nebula", "name of the job")
	f.StringVar(&s.Image, "image", "", "image of the container")
	f.IntVar(&s.Ranks, "ranks", 0, "number of ranks")
	f.IntVar(&s.Restarts, "restarts", 0, "how often a jobset starts all its ranks again when one fails")
	f.StringVar(&s.CPU, "cpu", "4", "cores of a rank")
	f.StringVar(&s.Memory, "memory", "16Gi", "memory of a rank")
	f.StringVar(&s.Shared, "shm", "1Gi", "size of a rank's /dev/shm")
	f.IntVar(&s.GPUs, "gpus", 0, "NVIDIA devices of a rank")
	outputFlag(cmd, &out)
	return cmd
}
