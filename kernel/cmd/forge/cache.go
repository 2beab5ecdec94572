package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/forge/backend/objects"
)

// cacheReport is what the cache of compiled programs holds.
type cacheReport struct {
	Folder  string        `json:"folder"`
	Limit   int64         `json:"limit_bytes"`
	Bytes   int64         `json:"bytes"`
	Objects []cacheObject `json:"objects"` // the one used last first
}

type cacheObject struct {
	Name  string    `json:"name"`
	Bytes int64     `json:"bytes"`
	Used  time.Time `json:"used"`
}

func newCacheReport(c *objects.Cache, list []objects.Object) cacheReport {
	r := cacheReport{Folder: c.Dir, Limit: c.Limit, Objects: []cacheObject{}}
	for _, o := range list {
		r.Bytes += o.Bytes
		r.Objects = append(r.Objects, cacheObject{o.Name, o.Bytes, o.Used.UTC().Truncate(time.Second)})
	}
	return r
}

func cacheCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Show what is kept of compiled programs, or clear it",
		Long: `Cache lists the compiled programs that are kept for the next process, the one used
last first. They are in the folder FORGE_CACHE_DIR, else below the user's cache
folder; beyond FORGE_CACHE_LIMIT MiB (256) the least recently used are removed.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := objects.Open("cpu")
			if err != nil {
				return err
			}
			list, err := c.Objects()
			if err != nil {
				return err
			}
			r := newCacheReport(c, list)
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			return printText(cmd.OutOrStdout(), r.table().Text())
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.AddCommand(clearCacheCommand())
	return cmd
}

func (r cacheReport) table() display.Table {
	t := display.Table{
		Title:   fmt.Sprintf("%s: %d compiled programs, %s of %s", r.Folder, len(r.Objects), display.FormatBytes(r.Bytes), display.FormatBytes(r.Limit)),
		Columns: []display.Column{{Name: "object"}, {Name: "size", Align: display.AlignRight}, {Name: "used"}},
	}
	for _, o := range r.Objects {
		t.Rows = append(t.Rows, []any{o.Name, display.FormatBytes(o.Bytes), o.Used.Format(time.DateTime)})
	}
	return t
}

func clearCacheCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clear",
		Short: "Remove all compiled programs that are kept",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := objects.Open("cpu")
			if err != nil {
				return err
			}
			removed, err := c.Clear()
			r := newCacheReport(c, removed)
			if err != nil {
				return fmt.Errorf("%d of the compiled programs in %s were removed: %w", len(removed), c.Dir, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "removed %d compiled programs, %s, from %s\n", len(removed), display.FormatBytes(r.Bytes), c.Dir)
			return err
		},
	}
}
