package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	measure "forgekernel/nebula/bench"
)

func nebulaCompareCommand() *cobra.Command {
	var dirty, asJSON, asMarkdown bool
	cmd := &cobra.Command{
		Use:   "compare BASE.json OTHER.json...",
		Short: "Compare captures of several ranks with that of one",
		Long: `Compare reads captures that forge nebula bench wrote, of which the first is of one
rank, and computes speed-up, efficiency (speed-up over ranks) and throughput. Captures
are refused that were changed, whose medians do not follow from their samples, that did
not pass their gate, that measured something else, that have equal topologies, or whose
program was not built from a clean commit.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("%s needs captures: that of one rank and those to compare with it", cmd.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON && asMarkdown {
				return usageError{errors.New("--json and --markdown are two forms: give one")}
			}
			list, failed := readNamed(args)
			if failed != nil {
				return failed
			}
			c, err := measure.Compare(list[0], list[1:], dirty)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			switch {
			case asJSON:
				return printJSON(out, c)
			case asMarkdown:
				_, err = io.WriteString(out, c.Markdown())
			default:
				err = printText(out, c.Table().Text())
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&dirty, "allow-dirty", false, "compare captures that no commit can reproduce")
	cmd.Flags().BoolVar(&asMarkdown, "markdown", false, "print a table for a page")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// readNamed reads captures, all of them before it says which cannot be.
func readNamed(paths []string) (list []measure.Named, failed error) {
	for _, path := range paths {
		c, err := measure.Read(path)
		if err != nil {
			failed = errors.Join(failed, err)
		}
		list = append(list, measure.Named{Name: path, Capture: c})
	}
	return list, failed
}
