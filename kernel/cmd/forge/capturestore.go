package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/forge/capture"
	"forgekernel/forge/capture/store"
)

// addToStore adds captures to a store, which is made unless it exists.
func addToStore(ctx context.Context, path string, captures ...*capture.Capture) error {
	s, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	for _, c := range captures {
		if err := s.Put(ctx, c); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Close()
}

// readStore opens a store that exists.
func readStore(ctx context.Context, path string, read func(*store.Store) error) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(read(s), s.Close())
}

func captureAddCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "add STORE FILE...",
		Short: "Add captures to a store; all of them are verified before any is added",
		Args:  arguments(cobra.MinimumNArgs(2)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			var list []*capture.Capture
			for _, path := range args[1:] {
				c, err := capture.Read(path)
				if err != nil {
					return err
				}
				list = append(list, c)
			}
			return addToStore(cmd.Context(), args[0], list...)
		}),
	}
}

// listed is a line of a list of captures.
type listed struct {
	ID        string       `json:"id"`
	Commit    string       `json:"commit"`
	Tree      capture.Tree `json:"tree"`
	CPU       string       `json:"cpu"`
	Workloads []string     `json:"workloads"`
}

func captureListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list STORE",
		Short: "List the captures of a store, the oldest first",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			list := []listed{}
			err := readStore(cmd.Context(), args[0], func(s *store.Store) error {
				ids, err := s.IDs(cmd.Context())
				for i := 0; i < len(ids) && err == nil; i++ {
					var c *capture.Capture
					if c, err = s.Get(cmd.Context(), ids[i]); err == nil {
						list = append(list, newListed(c))
					}
				}
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), list)
			}
			for _, l := range list {
				fmt.Fprintf(cmd.OutOrStdout(), "%s  commit %.12s, tree %s  %s  %s\n", l.ID, l.Commit, l.Tree, l.CPU, display.Count(len(l.Workloads), "workload"))
			}
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newListed(c *capture.Capture) listed {
	l := listed{ID: c.ID, Commit: c.Environment.Commit, Tree: c.Environment.Tree, CPU: c.Environment.CPU}
	for _, w := range c.Workloads {
		l.Workloads = append(l.Workloads, w.Name)
	}
	return l
}

func captureGetCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "get STORE ID [-o FILE]",
		Short: "Write a capture of a store as a file",
		Args:  arguments(cobra.ExactArgs(2)),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			return readStore(cmd.Context(), args[0], func(s *store.Store) error {
				c, err := s.Get(cmd.Context(), args[1])
				if err != nil {
					return err
				}
				raw, err := capture.Encode(c)
				if err != nil {
					return err
				}
				return writeTo(cmd, out, func(w io.Writer) error { return copyTo(w, raw) })
			})
		}),
	}
	outputFlag(cmd, &out)
	return cmd
}
