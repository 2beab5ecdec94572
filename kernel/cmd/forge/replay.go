package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"forgekernel/forge/replay"
	"forgekernel/forge/suite"
)

func replayCommand() *cobra.Command {
	var record bool
	cmd := &cobra.Command{
		Use:   "replay OLD [NEW] | replay --record DIR",
		Short: "Show what a change of the compiler altered in the models of the suite",
		Long: `Replay compares what two builds of the compiler made of the models of the suite:
the program after every pass and the memory plans. OLD and NEW are folders that
"replay --record" filled; without NEW it is what this build makes. The pass that
differs first is named for each model. The exit status is 1 if anything differs.`,
		Args: arguments(cobra.RangeArgs(1, 2)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if record {
				return recordSuite(args)
			}
			report, err := replayed(args)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprint(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if len(report) > 0 {
				return exitStatus(exitFailure)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&record, "record", false, "write what this build makes of the suite into DIR")
	return cmd
}

func recordSuite(args []string) error {
	if len(args) != 1 {
		return usageError{errors.New("--record writes to one folder")}
	}
	records, err := suite.Records()
	if err != nil {
		return err
	}
	return replay.WriteDir(args[0], records)
}

// replayed compares two folders, or a folder with this build.
func replayed(args []string) (replay.Report, error) {
	if len(args) == 2 {
		return replay.CompareDirs(args[0], args[1])
	}
	old, err := replay.ReadDir(args[0])
	if err != nil {
		return nil, err
	}
	records, err := suite.Records()
	if err != nil {
		return nil, err
	}
	return replay.Compare(old, records), nil
}
