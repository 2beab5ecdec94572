// Package nebula is the public face of the distributed decoder runtime: what a Go
// cell or a program says when it means "this model, on these ranks".
//
// A [Model] is a file, a folder or a seed. [Launch] starts a [Job] of it: a fixed
// set of ranks, each of which holds a part of the weights and of the cache. A job
// takes requests from any number of goroutines and batches them:
//
//	m := nebula.Load("SmolLM2-135M.gguf")        // panics; Open returns the error
//	job := nebula.Launch(m, nebula.TP(2))        // panics; Start returns the error
//	for piece, err := range job.Generate(ctx, "Once upon a time", nebula.MaxTokens(64)) {
//		fmt.Print(piece.Text)
//	}
//	job.Complete(ctx, "The capital of France is", nebula.MaxTokens(8))   // all at once; panics; Run returns the error
//	job.Batch(ctx, prompts, nebula.Temperature(0.8), nebula.Seed(7))     // many side by side
//	job.Status(); job.Steps(); job.Rank(1).Explain(); job.Recorded(); job.Close()
//
// What ranks will hold can be seen without starting any: [Model.Plan].
//
// # Where ranks are
//
// A job of one rank computes in this process. The ranks of a larger one are
// processes of this binary, so that all that they hold is free when they exit;
// [InProcess] makes them goroutines instead, and [Join] takes those that a launcher
// has started. With [Replicas] there are several such sets of ranks, and a request
// goes to the one with the fewest, or to one that has its beginning already ([Affinity]).
//
// # How jobs end
//
// There is one job of a name in a process, and the name is "" unless [Name] says
// otherwise: starting one closes the earlier one first, so that running a cell
// again frees what its first run held. [Jobs] lists them, and [CloseAll] closes all.
//
// A request ends with the context that it was given and with the cell that made
// it: interrupting the cell cancels it at the next step and leaves the job healthy.
// When a rank fails, so does the job, for good. Requests that were under way get
// the cause, a [*RankError], and are never repeated; Launch starts the job again.
package nebula

import (
	"context"
	"os"

	"forgekernel/forge"
	"forgekernel/nebula/launch"
)

// Launcher reads from the process's environment which launcher started it and
// where this rank stands. Without a launcher the job has one rank.
func Launcher() (launch.Job, error) { return launch.Detect(os.LookupEnv) }

// withCell is ctx that ends with the running cell, too, and what ends it at last.
func withCell(ctx context.Context) (context.Context, func()) {
	cell := forge.Context()
	merged, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(cell, func() { cancel(context.Cause(cell)) })
	return merged, func() { stop(); cancel(nil) }
}
