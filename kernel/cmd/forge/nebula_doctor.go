package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"forgekernel/nebula/launch/doctor"
)

func nebulaDoctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine this host: what the ranks of a job would find here",
		Long: `Doctor examines this host, and the place that a launcher gave this process. Each
finding is ok, warn (something will be slower, smaller or left out) or fail (a job
cannot run here as it is), and says what to do when it is not ok.

The exit status is 1 when a finding is fail. To examine the ranks of a launcher,
let it start this command: srun forge nebula doctor.`,
		Args: noArguments,
		RunE: stoppable(func(cmd *cobra.Command, _ []string) error {
			report := doctor.Examine(cmd.Context(), doctor.This())
			if cmd.Context().Err() != nil {
				return nil // the signal is the reason, and stoppable tells it
			}
			if err := printFindings(cmd.OutOrStdout(), report, asJSON); err != nil {
				return err
			}
			if report.State() == doctor.Fail {
				return exitStatus(exitFailure)
			}
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printFindings(w io.Writer, r doctor.Report, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}
	_, err := fmt.Fprint(w, r.Text(isScreen(w)))
	return err
}
