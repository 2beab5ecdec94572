package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"forgekernel/nebula/proc"
)

// stoppable lets a signal, or an output that nobody reads any more, end the
// context of a command, which can then clean up and write what it has; it fails
// with the signal as the reason. A second signal ends the process at once. The
// kernel is not stoppable: to it SIGINT means the running cell.
func stoppable(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return stoppableBy(run, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
}

// stoppableRanks is the same for a command that has ranks. A rank that has gone breaks
// its sockets, which gives a SIGPIPE as well; there a failure to print is an error of
// the one who prints.
func stoppableRanks(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	caught := stoppableBy(run, syscall.SIGTERM, syscall.SIGHUP)
	return func(cmd *cobra.Command, args []string) error {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // to nobody: it does not kill
		return caught(cmd, args)
	}
}

// stoppableBy is stoppable by some signals and SIGINT.
func stoppableBy(run func(*cobra.Command, []string) error, by ...os.Signal) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := context.WithCancelCause(cmd.Context())
		defer stop(nil)
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, by...)
		if !signal.Ignored(syscall.SIGINT) { // as it is for a job in the background
			signal.Notify(signals, syscall.SIGINT)
		}
		defer signal.Stop(signals)
		go func() {
			select {
			case s := <-signals:
				stop(fmt.Errorf("stopped: %v", s))
				// SIGPIPE stays caught: what is still printed must not kill.
				signal.Reset(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
			case <-ctx.Done():
			}
		}()
		cmd.SetContext(ctx)
		if err := run(cmd, args); err != nil {
			return err
		}
		return context.Cause(ctx)
	}
}

// parentVariable holds the process that started a kernel and wants it to end
// with itself. Jupyter sets it unless the kernel is to be independent.
const parentVariable = "JPY_PARENT_PID"

// whileParentLives is a context that ends with ctx and with the process that
// started this one, if that is its wish. A number that is not our parent's is of
// a launcher in between or of another namespace, and says nothing.
func whileParentLives(ctx context.Context, log *slog.Logger) context.Context {
	pid, err := strconv.Atoi(os.Getenv(parentVariable))
	if err != nil || pid != os.Getppid() {
		return ctx
	}
	awaitEnd, err := proc.Watch(pid)
	if err != nil {
		log.Warn("the end of the parent will not be noticed", "error", err)
		return ctx
	}
	ctx, end := context.WithCancel(ctx)
	if pid != os.Getppid() { // it ended meanwhile, and the one that is watched may be another
		end()
	}
	go func() {
		defer end()
		awaitEnd()
	}()
	return ctx
}
