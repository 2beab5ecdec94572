package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"forgekernel/kernel/bytesize"
	"forgekernel/kernel/front"
	"forgekernel/kernel/reap"
)

func kernelCommand() *cobra.Command {
	var file, memory, output string
	cmd := &cobra.Command{
		Use:   "kernel --connection-file FILE",
		Short: "Serve a Jupyter kernel (this is what Jupyter starts)",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return usageError{errors.New("forge kernel needs --connection-file FILE; Jupyter gives it")}
			}
			cfg := front.Config{
				ConnectionFile: file,
				HistoryPath:    historyPath(),
				Version:        version,
				Logger:         slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
			}
			var err error
			if cfg.OutputLimit, err = bytesize.Parse(output); err != nil {
				return usageError{fmt.Errorf("--output-limit: %w", err)}
			}
			if cfg.MemoryLimit, err = bytesize.Parse(memory); err != nil {
				return usageError{fmt.Errorf("--memory-limit: %w", err)}
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			cfg.SessionArgv = []string{self, "session"}
			if err := reap.Adopt(); err != nil {
				return err
			}
			cfg.SessionEnded = func() {
				if err := reap.Descendants(); err != nil {
					cfg.Logger.Warn("processes of a session are left", "error", err)
				}
			}
			return front.Run(whileParentLives(cmd.Context(), cfg.Logger), cfg)
		},
	}
	cmd.Flags().StringVar(&file, "connection-file", "", "the connection file that Jupyter wrote")
	cmd.Flags().StringVar(&output, "output-limit", fromEnv("FORGE_OUTPUT_LIMIT", "16MiB"), "bytes of text that one cell may print; 0 means no limit")
	cmd.Flags().StringVar(&memory, "memory-limit", fromEnv("FORGE_MEMORY_LIMIT", "0"), "bytes of memory that cells may use; 0 means no limit")
	return cmd
}

func fromEnv(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// historyPath is where inputs of all kernels are kept; empty when there is no
// home directory, which keeps history in memory.
func historyPath() string {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "forge", "history.jsonl")
}
