package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// nebulaCommand groups what is about jobs of several ranks.
func nebulaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nebula",
		Short: "Run decoders on several ranks, and look after their jobs",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var names []string
			for _, c := range cmd.Commands() {
				if !c.Hidden && c.Name() != "help" {
					names = append(names, c.Name())
				}
			}
			return usageError{fmt.Errorf("no command %q of forge nebula: there are %s", args[0], strings.Join(names, ", "))}
		},
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // they are those of the command that there is not
	}
	cmd.AddCommand(nebulaDoctorCommand(), nebulaPSCommand(), nebulaKillCommand(), nebulaManifestCommand(), nebulaRankCommand(), nebulaPreflightCommand(),
		nebulaGenerateCommand(), nebulaBenchCommand(), nebulaCompareCommand(), nebulaBatchCommand(), nebulaProfileCommand())
	return cmd
}
