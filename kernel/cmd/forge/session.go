package main

import (
	"github.com/spf13/cobra"

	"forgekernel/kernel/session"
)

// sessionCommand is what the kernel starts to run cells; it talks over
// inherited descriptors and is of no use to a person.
func sessionCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "session",
		Hidden: true,
		Args:   noArguments,
		RunE: func(*cobra.Command, []string) error {
			if status := session.Main(); status != 0 {
				return exitStatus(status)
			}
			return nil
		},
	}
}
