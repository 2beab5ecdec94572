package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"forgekernel/forge/capture"
	"forgekernel/forge/textfile"
	"forgekernel/kernel/replace"
)

// writeCapture writes the file of a capture, whole or not at all.
func writeCapture(path string, c *capture.Capture) error {
	raw, err := capture.Encode(c)
	if err != nil {
		return err
	}
	return replace.File(path, func(w io.Writer) error { return copyTo(w, raw) })
}

func benchCompareCommand() *cobra.Command {
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
			return printText(cmd.OutOrStdout(), c.Table().Text())
		}),
	}
	cmd.Flags().StringVar(&old, "old", "", "the candidate to compare with, such as cpu:written:1")
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

func benchReportCommand() *cobra.Command {
	var (
		dir        string
		page       string
		allowDirty bool
	)
	cmd := &cobra.Command{
		Use:   "report FILE [--output-dir DIR | --update PAGE.md] [--allow-dirty]",
		Short: "Write a capture as Markdown, or with figures and an HTML page into a folder",
		Long: `Report writes what a capture says: all of it as Markdown, or with --output-dir as a
Markdown and an HTML page with figures. With --update it replaces, in a Markdown page
of yours, what stands between the lines ` + capture.SummaryBegin + ` and
` + capture.SummaryEnd + ` by a table of all medians.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if dir != "" && page != "" {
				return usageError{errors.New("--output-dir writes a report and --update changes a page: give one")}
			}
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
			switch {
			case dir != "":
				return writeReport(dir, r)
			case page != "":
				return updatePage(page, r)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), r.Markdown())
			return err
		}),
	}
	cmd.Flags().StringVar(&dir, "output-dir", "", "write report.md, report.html and the figures into this folder")
	cmd.Flags().StringVar(&page, "update", "", "replace the table of a Markdown page")
	cmd.Flags().BoolVar(&allowDirty, "allow-dirty", false, "report a capture that was not taken by a clean commit")
	return cmd
}

// maxPage bounds the pages that are changed, in bytes.
const maxPage = 16 << 20

// updatePage replaces the summary that a page holds.
func updatePage(path string, r *capture.Report) error {
	page, err := textfile.Read(path, maxPage)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(page), capture.SummaryBegin)
	_, after, ended := strings.Cut(rest, capture.SummaryEnd)
	if !found || !ended {
		return fmt.Errorf("%s: there is no line %s with a line %s below it", path, capture.SummaryBegin, capture.SummaryEnd)
	}
	return replace.File(path, func(w io.Writer) error {
		_, err := io.WriteString(w, before+r.Summary()+after)
		return err
	})
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
