package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"forgekernel/forge/backend/cuda/preflight"
	"forgekernel/nebula/job"
)

func init() {
	if self, err := os.Executable(); err == nil {
		job.Preflight = []string{self, "nebula", "preflight"}
	}
}

func nebulaPreflightCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "preflight",
		Short: "Find out whether the GPUs of this host exchange tensors directly",
		Long: `Preflight lets the GPUs of this host exchange known values, each in a throw-away
process, under a deadline. Where that hangs or gives other values, jobs exchange
through memory of the host. The verdict is kept in the cache folder, and jobs find it
there; they find it out themselves when there is none.`,
		Args: arguments(cobra.MatchAll(cobra.MaximumNArgs(2), func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return fmt.Errorf("a process of this command is told its rank and how many there are")
			}
			return nil
		})),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				rank, err := strconv.Atoi(args[0])
				if err != nil {
					return usageError{err}
				}
				size, err := strconv.Atoi(args[1])
				if err != nil {
					return usageError{err}
				}
				return preflight.Attend(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), rank, size)
			}
			v, err := preflight.Check(cmd.Context(), job.Preflight...)
			if err != nil {
				return err
			}
			if v == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "There is nothing to find out: there are fewer than two GPUs, or NCCL_P2P_DISABLE has decided.")
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), v)
			return err
		}),
	}
}
