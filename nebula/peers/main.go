// Command peers holds Nebula against other libraries with one real model, SmolLM2-135M:
//
//	peers demo    the same text as llama.cpp, on one rank and on several processes
//	peers speed   the time of a decode step beside llama.cpp and transformers
//	peers bars    what batching, sharing and parallelism gain
//	peers table   the tables of a capture that speed or bars wrote
//
// The Makefile has the environment and the model that it needs. Other libraries run
// in processes of peer.py; convert.py writes the model in the form that each reads.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"github.com/spf13/cobra"

	"forgekernel/nebula/job"
	"forgekernel/nebula/launch"
)

func main() {
	if slices.Equal(os.Args[1:], job.Command) {
		exit(attend())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := &cobra.Command{Use: "peers", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(demoCommand(), speedCommand(), barsCommand(), tableCommand())
	exit(root.ExecuteContext(ctx))
}

// attend makes this process a rank of a job that the demo started.
func attend() error {
	r, err := launch.Attach()
	if err != nil {
		return err
	}
	return job.Attend(r, nil)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
