package main

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"forgekernel/install/colab"
)

func colabCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "colab",
		Short: "Run notebooks as jobs on Google Colab",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usageError{fmt.Errorf("no command %q of forge colab: there is run", args[0])}
		},
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	cmd.AddCommand(colabRunCommand())
	return cmd
}

func colabRunCommand() *cobra.Command {
	var (
		sent sent
		job  colab.Job
	)
	cmd := &cobra.Command{
		Use:   "run NOTEBOOK [--gpu T4] [--model PATH] [--param k=v] [--dry-run]",
		Short: "Run a notebook in a session of Google Colab and fetch what it made",
		Long: `Run makes a session with Google's own tool, colab (google-colab-cli), sends this binary,
the notebook and the model there, examines the machine, executes the notebook, fetches
what it made, and stops the session, also when any of that fails or is interrupted.

The tool's own login is used, and nothing is read of it. A job is one session; see
install/colab/README.md for what Google allows.`,
		Args: oneArgument("notebook"),
		RunE: stoppableLater(colab.StopTime, func(cmd *cobra.Command, args []string) error {
			shape, err := colab.Shape(job.GPU)
			if err != nil {
				return usageError{err}
			}
			if err := sent.complete(cmd.Context(), args[0], "colab", shape); err != nil {
				return err
			}
			if job.Session == "" {
				job.Session = "forge-" + uuid.NewString()[:8]
			}
			job.Spec, job.Timeout, job.Dir = sent.spec, sent.timeout, sent.dir
			if err := job.Write(); err != nil {
				return err
			}
			if sent.dryRun {
				return job.Show(cmd.OutOrStdout())
			}
			client, err := colab.NewClient(cmd.Context(), cmd.OutOrStdout())
			if err != nil {
				return err
			}
			r, err := client.Run(cmd.Context(), &job)
			return came(cmd, r, job.Output(), err)
		}),
	}
	sent.flags(cmd, time.Hour)
	cmd.Flags().StringVar(&job.GPU, "gpu", "", "the GPU: T4, L4, G4, A100 or H100; none without")
	cmd.Flags().StringVar(&job.Session, "session", "", "the session's name (default: a new one)")
	return cmd
}
