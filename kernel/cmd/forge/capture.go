package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"forgekernel/forge/capture"
	"forgekernel/kernel/notebook/terminal"
)

func captureCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "capture verify|show FILE... | capture add|list|get STORE ...",
		Short: "Verify, show and store what bench measured",
		Long: `A capture is a file that "forge bench -o" wrote. All commands verify it first: its
hash, every number that follows from others, and its memory plans. A store is an
SQLite file with any number of captures. "forge bench" also compares and reports
captures.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usageError{fmt.Errorf("no command %q; there are verify, show, add, list and get", args[0])}
		},
	}
	cmd.AddCommand(captureVerifyCommand(), captureShowCommand(), captureAddCommand(), captureListCommand(), captureGetCommand())
	return cmd
}

// verification is what verifying a file found.
type verification struct {
	File   string `json:"file"`
	ID     string `json:"id,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Error  string `json:"error,omitempty"`
}

func verifyCapture(path string) verification {
	v := verification{File: path}
	c, err := capture.Read(path)
	if err == nil {
		v.ID = c.ID
		v.SHA256, err = capture.Hash(c)
	}
	if err != nil {
		v.Error = plainly(err)
	}
	return v
}

func captureVerifyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Check captures; the exit status is 1 if one is refused",
		Args:  arguments(cobra.MinimumNArgs(1)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			var list []verification
			var failed error
			for _, path := range args {
				v := verifyCapture(path)
				list = append(list, v)
				switch {
				case v.Error != "":
					failed = errors.Join(failed, errors.New(v.Error))
				case !asJSON:
					fmt.Fprintf(cmd.OutOrStdout(), "%s: capture %s is as it was written, SHA-256 %s\n", path, v.ID, v.SHA256)
				}
			}
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), list); err != nil {
					return err
				}
			}
			return failed
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func captureShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show FILE...",
		Short: "Show captures with their samples as text",
		Args:  arguments(cobra.MinimumNArgs(1)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			for _, path := range args {
				c, err := capture.Read(path)
				if err != nil {
					return err
				}
				if asJSON {
					if err := printJSON(cmd.OutOrStdout(), c); err != nil {
						return err
					}
					continue
				}
				r, err := capture.NewReport(c, true)
				if err != nil {
					return err
				}
				out := cmd.OutOrStdout()
				if _, err := fmt.Fprintln(out, r.TextWithin(terminal.Width(out))); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
