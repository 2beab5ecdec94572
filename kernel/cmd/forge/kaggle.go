package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/install/bundle"
	"forgekernel/install/kaggle"
)

func kaggleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kaggle",
		Short: "Run notebooks as jobs on Kaggle",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usageError{fmt.Errorf("no command %q of forge kaggle: there are push and fetch", args[0])}
		},
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	cmd.AddCommand(kagglePushCommand(), kaggleFetchCommand())
	return cmd
}

func pollFlag(cmd *cobra.Command, poll *time.Duration) {
	cmd.Flags().DurationVar(poll, "poll", 10*time.Second, "how often Kaggle is asked for what changes by itself")
}

func kagglePushCommand() *cobra.Command {
	var (
		sent sent
		job  kaggle.Job
		poll time.Duration
	)
	cmd := &cobra.Command{
		Use:   "push NOTEBOOK [--accelerator NvidiaTeslaT4] [--tp N] [--model PATH] [--param k=v] [--dry-run]",
		Short: "Run a notebook as a job on Kaggle and fetch what it made",
		Long: `Push writes a dataset (this binary, the notebook, the model) and a script, gives both
to Kaggle with Kaggle's own tool, kaggle, follows the log of the job and fetches the
executed notebook and what its cells wrote. The script examines the machine first:
where it is not the one of the accelerator, the job ends before any work.

The tool's own login is used, and nothing is read of it. A job is one machine; see
install/kaggle/README.md for what Kaggle allows.`,
		Args: oneArgument("notebook"),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			shape, err := kaggle.Shape(job.Accelerator)
			if err != nil && sent.spec.Expect == "" {
				return usageError{err}
			}
			if err := sent.complete(cmd.Context(), args[0], "kaggle", shape); err != nil {
				return err
			}
			if job.Slug == "" {
				job.Slug = kaggle.Slug(args[0])
			}
			job.Spec, job.Timeout, job.Dir = sent.spec, sent.timeout, sent.dir
			return pushToKaggle(cmd, &job, sent.dryRun, poll)
		}),
	}
	sent.flags(cmd, 2*time.Hour)
	pollFlag(cmd, &poll)
	cmd.Flags().StringVar(&job.Accelerator, "accelerator", "", "the machine: NvidiaTeslaT4 has two T4; none has no GPU")
	cmd.Flags().StringVar(&job.User, "user", "", "the account (default: the one that kaggle is logged in as)")
	cmd.Flags().StringVar(&job.Slug, "name", "", "the job's name on Kaggle (default: forge- and the notebook's)")
	cmd.Flags().BoolVar(&job.Internet, "internet", false, "let the job reach the internet")
	return cmd
}

func pushToKaggle(cmd *cobra.Command, job *kaggle.Job, dry bool, poll time.Duration) error {
	var client *kaggle.Client
	var err error
	if !dry || job.User == "" {
		client, err = newKaggle(cmd, poll)
	}
	if err == nil && job.User == "" {
		job.User, err = client.User(cmd.Context())
	}
	switch {
	case err != nil && dry && !errors.As(err, new(usageError)):
		job.User = placeholderUser
		fmt.Fprintf(cmd.ErrOrStderr(), "%s stands for the account, which is not known: %v\n", placeholderUser, err)
	case err != nil:
		return err
	}
	if err := job.Write(); err != nil {
		return err
	}
	if dry {
		return job.Show(cmd.OutOrStdout())
	}
	r, err := client.Push(cmd.Context(), job)
	return came(cmd, r, job.Output(), err)
}

// placeholderUser is the account of a dry run that knows none.
const placeholderUser = "YOUR-ACCOUNT"

func newKaggle(cmd *cobra.Command, poll time.Duration) (*kaggle.Client, error) {
	if poll <= 0 {
		return nil, usageError{errors.New("--poll must be positive")}
	}
	return kaggle.NewClient(cmd.Context(), cmd.OutOrStdout(), poll)
}

// came tells what came back from a host, also when the job failed.
func came(cmd *cobra.Command, r *bundle.Result, dir string, err error) error {
	if r == nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The job took %.0f s; the executed notebook and what it wrote are in %s.\n", r.Seconds, dir)
	if err != nil {
		return fmt.Errorf("the job failed: %w", err)
	}
	return nil
}

func kaggleFetchCommand() *cobra.Command {
	var (
		dir  string
		poll time.Duration
	)
	cmd := &cobra.Command{
		Use:   "fetch USER/NAME [-o DIR]",
		Short: "Follow a job that was pushed before, and fetch what it made",
		Args:  oneArgument("job, written USER/NAME"),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			client, err := newKaggle(cmd, poll)
			if err != nil {
				return err
			}
			r, err := client.Fetch(cmd.Context(), args[0], dir)
			return came(cmd, r, dir, err)
		}),
	}
	cmd.Flags().StringVarP(&dir, "output", "o", "kaggle-output", "the folder for what the job made")
	pollFlag(cmd, &poll)
	return cmd
}
