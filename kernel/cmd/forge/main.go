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
	"os"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a wrong command line: the person, not the program, must change
// something.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitStatus ends the process with a status and no further message.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func main() {
	out := &output{file: os.Stdout}
	cmd := root()
	cmd.SetOut(out)
	err := cmd.ExecuteContext(context.Background())
	if err == nil {
		err = out.err
	}
	os.Exit(report(err))
}

// report prints an error for a person and returns the exit status.
func report(err error) int {
	var status exitStatus
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "forge: %v\nRun 'forge help' for usage.\n", err)
		return exitUsage
	}
	fmt.Fprintf(os.Stderr, "forge: %v\n", err)
	return exitFailure
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
		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.AddCommand(compileCommand(), runCommand(), explainCommand(), dumpCommand(), replayCommand(), checkCommand(), fuzzCommand(), notebookCommand(), kernelCommand(), sessionCommand(),
		installCommand(), uninstallCommand(), versionCommand())
	return cmd
}

// arguments turns the failure of one of cobra's argument checks into a usage error.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
