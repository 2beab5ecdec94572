package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"forgekernel/forge/capture"
	"forgekernel/kernel/replace"
)

func captureCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "capture verify|show|compare|report FILE... | capture add|list|get STORE ...",
		Short: "Verify, show and compare what bench measured",
		Long: `A capture is a file that "forge bench -o" wrote. All commands verify it first: its
hash, every number that follows from others, and its memory plans. A store is an
SQLite file with any number of captures.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usageError{fmt.Errorf("no command %q; there are verify, show, compare, report, add, list and get", args[0])}
		},
	}
	cmd.AddCommand(captureVerifyCommand(), captureShowCommand(), captureCompareCommand(), captureReportCommand(),
		captureAddCommand(), captureListCommand(), captureGetCommand())
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
		v.Error = err.Error()
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
				fmt.Fprintln(cmd.OutOrStdout(), r.Text())
			}
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func captureCompareCommand() *cobra.Command {
	var (
		old, new string
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "compare OLD NEW | compare FILE --old BACKEND[:VARIANT[:THREADS]] --new ...",
		Short: "Compare two captures, or two candidates of one",
		Args:  arguments(cobra.RangeArgs(1, 2)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			c, err := compareCaptures(args, old, new)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), c)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), c.Table().Text())
			return err
		}),
	}
	cmd.Flags().StringVar(&old, "old", "", "the candidate to compare with, such as interp:written:1")
	cmd.Flags().StringVar(&new, "new", "", "the candidate that is judged")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// compareCaptures compares two files, or two sides of one.
func compareCaptures(paths []string, old, new string) (*capture.Comparison, error) {
	if (len(paths) == 1) != (old != "" && new != "") || len(paths) == 2 && old+new != "" {
		return nil, usageError{errors.New("give two captures, or one with --old and --new")}
	}
	a, err := capture.Read(paths[0])
	if err != nil {
		return nil, err
	}
	if len(paths) == 2 {
		b, err := capture.Read(paths[1])
		if err != nil {
			return nil, err
		}
		return capture.Compare(a, b)
	}
	before, err := capture.ParseSide(old)
	if err != nil {
		return nil, usageError{fmt.Errorf("--old: %w", err)}
	}
	after, err := capture.ParseSide(new)
	if err != nil {
		return nil, usageError{fmt.Errorf("--new: %w", err)}
	}
	return capture.Sides(a, before, after)
}

func captureReportCommand() *cobra.Command {
	var (
		dir        string
		allowDirty bool
	)
	cmd := &cobra.Command{
		Use:   "report FILE [--output-dir DIR] [--allow-dirty]",
		Short: "Write a capture as Markdown, or with figures and an HTML page into a folder",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			c, err := capture.Read(args[0])
			if err != nil {
				return err
			}
			r, err := capture.NewReport(c, allowDirty)
			if errors.Is(err, capture.ErrDirty) {
				return fmt.Errorf("%s: %w; --allow-dirty reports it all the same", args[0], err)
			}
			if err != nil {
				return err
			}
			if dir != "" {
				return writeReport(dir, r)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), r.Markdown())
			return err
		}),
	}
	cmd.Flags().StringVar(&dir, "output-dir", "", "write report.md, report.html and the figures into this folder")
	cmd.Flags().BoolVar(&allowDirty, "allow-dirty", false, "report a capture that was not taken by a clean commit")
	return cmd
}

// writeReport draws everything before it writes anything.
func writeReport(dir string, r *capture.Report) error {
	files, err := r.Files()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := replace.File(filepath.Join(dir, f.Name), func(w io.Writer) error { return copyTo(w, f.Content) }); err != nil {
			return err
		}
	}
	return nil
}
