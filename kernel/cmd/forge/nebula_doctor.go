package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"forgekernel/kernel/notebook/terminal"
	"forgekernel/nebula/launch/doctor"
)

func nebulaDoctorCommand() *cobra.Command {
	var (
		asJSON bool
		expect string
	)
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
			report, err := examine(cmd, expect)
			if err != nil {
				return err
			}
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
	cmd.Flags().StringVar(&expect, "expect", "", "how many GPUs of which name a job needs, such as 2xT4; another machine is a fail")
	return cmd
}

func examine(cmd *cobra.Command, expect string) (doctor.Report, error) {
	if expect == "" {
		return doctor.Examine(cmd.Context(), doctor.This()), nil
	}
	shape, err := doctor.ParseShape(expect)
	if err != nil {
		return doctor.Report{}, usageError{err}
	}
	return doctor.Report{Schema: doctor.Schema, Findings: doctor.Run(cmd.Context(), doctor.This(), doctor.Expect(shape))}, nil
}

func printFindings(w io.Writer, r doctor.Report, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}
	_, err := fmt.Fprint(w, r.TextWithin(terminal.Width(w), terminal.IsScreen(w)))
	return err
}
