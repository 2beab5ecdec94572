package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

// version is set by the linker to the commit that was built.
var version = unstamped

type versionReport struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisVersion() versionReport {
	return versionReport{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}

func (v versionReport) String() string {
	return fmt.Sprintf("forge %s (%s, %s)", v.Version, v.Go, v.Platform)
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), thisVersion())
			}
			fmt.Fprintln(cmd.OutOrStdout(), thisVersion())
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func jsonFlag(cmd *cobra.Command, into *bool) {
	cmd.Flags().BoolVar(into, "json", false, "print JSON for a program to read")
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // sources in it are to be read, too
	return enc.Encode(v)
}
