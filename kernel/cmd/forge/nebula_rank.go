package main

import (
	"github.com/spf13/cobra"

	"forgekernel/nebula/job"
	"forgekernel/nebula/launch"
)

// nebulaRankCommand is what a job starts its ranks with; it talks over an inherited
// descriptor and is of no use to a person.
func nebulaRankCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "rank",
		Hidden: true,
		Args:   noArguments,
		RunE: func(*cobra.Command, []string) error {
			r, err := launch.Attach()
			if err != nil {
				return err
			}
			return job.Attend(r, nil)
		},
	}
}
