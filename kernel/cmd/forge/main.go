// Command forge is the workbench: the Jupyter kernel, the compiler on the
// command line, and the notebook runner, in one binary.
//
// Exit status: 0 when all went well, 1 when compiling or running failed, 2 when
// the command line was wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/capture"
)

func main() {
	out := &output{file: os.Stdout}
	display.SetSink(&progressLine{w: io.Discard, stay: os.Stderr})
	if version != unstamped {
		capture.SetBuild(version)
	}
	cmd := root()
	cmd.SetOut(out)
	cmd, err := cmd.ExecuteContextC(context.Background())
	forge.Close()
	if err == nil {
		err = out.err
	}
	if errors.Is(out.err, unix.EPIPE) { // who read has seen enough
		err = exitStatus(exitFailure)
	}
	os.Exit(report(os.Stderr, cmd, err))
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "forge",
		Short:         "The Forge workbench: compile tensor programs and serve Jupyter notebooks",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs, // so that an unknown command is a usage error of ours
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			message := fmt.Sprintf("no command %q", args[0])
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				message += fmt.Sprintf("; did you mean %q?", near[0])
			}
			return usageError{errors.New(message)}
		},
		Version:                    thisVersion().String(),
		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	cmd.SetVersionTemplate("{{.Version}}\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	cmd.AddCommand(
		compileCommand(), runCommand(), explainCommand(), kernelSourceCommand(), wgslCommand(), dumpCommand(), replayCommand(),
		checkCommand(), fuzzCommand(), tuneCommand(), benchCommand(), captureCommand(),
		notebookCommand(), kernelCommand(), sessionCommand(), nebulaCommand(),
		cacheCommand(), installCommand(), uninstallCommand(), kaggleCommand(), colabCommand(), versionCommand())
	return cmd
}
