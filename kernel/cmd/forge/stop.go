package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/nebula/proc"
)

// stopLimit is what a command has to end after a signal. It is more than notebooks take to
// interrupt a cell and to end its kernel, the tools of hosts to end, and ranks.
var stopLimit = 25 * time.Second

// stopNotice is when a person who waits for the end of a command learns what else to do.
const stopNotice = 2 * time.Second

// stoppable lets a signal, or an output that nobody reads any more, end the
// context of a command, which can then clean up and write what it has; it fails
// with the signal as the reason. One that does not look at its context is ended after
// [stopLimit], and a second signal ends the process at once. The
// kernel is not stoppable: to it SIGINT means the running cell.
func stoppable(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return stoppableBy(run, 0, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
}

// stoppableLater is the same for a command that has something to end elsewhere first,
// which may take longer by some time.
func stoppableLater(longer time.Duration, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return stoppableBy(run, longer, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
}

// stoppableRanks is the same for a command that has ranks. A rank that has gone breaks
// its sockets, which gives a SIGPIPE as well; there a failure to print is an error of
// the one who prints.
func stoppableRanks(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	caught := stoppableBy(run, 0, syscall.SIGTERM, syscall.SIGHUP)
	return func(cmd *cobra.Command, args []string) error {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // to nobody: it does not kill
		return caught(cmd, args)
	}
}

// stoppableBy is stoppable by some signals and SIGINT.
func stoppableBy(run func(*cobra.Command, []string) error, longer time.Duration, by ...os.Signal) func(*cobra.Command, []string) error {
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
				limit := stopLimit + longer
				time.Sleep(min(stopNotice, limit))
				fmt.Fprintf(cmd.ErrOrStderr(), "forge: %v: ending; a second one ends it at once\n", s)
				time.Sleep(max(0, limit-stopNotice))
				fmt.Fprintf(cmd.ErrOrStderr(), "forge: stopped: %v; what ran took no notice for %v and was ended\n", s, limit)
				os.Exit(exitFailure)
			case <-ctx.Done():
			}
		}()
		cmd.SetContext(ctx)
		err := run(cmd, args)
		if cause := context.Cause(ctx); err == nil || cause != nil && errors.Is(err, context.Canceled) {
			return cause
		}
		return err
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
