package nebula

import (
	"fmt"
	"time"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/job"
	"forgekernel/nebula/shard"
)

// Option is a choice about a job.
type Option func(*options)

type options struct {
	job.Spec
	name      string
	replicas  int
	affinity  int
	inProcess bool
	wrong     error // the first option that cannot be
}

func newOptions(m *Model, list []Option) (options, error) {
	o := options{Spec: job.Spec{Model: m.Ref(), Layout: shard.Layout{TP: 1, PP: 1}}, replicas: 1, affinity: defaultAffinity}
	for _, set := range list {
		set(&o)
	}
	if o.wrong == nil && (o.replicas < 1 || o.replicas > maxReplicas) {
		o.wrong = fmt.Errorf("%d replicas; there can be 1 to %d", o.replicas, maxReplicas)
	}
	if o.wrong == nil && o.affinity < 0 {
		o.wrong = fmt.Errorf("an affinity of %d; it is 0 or more", o.affinity)
	}
	if o.wrong != nil {
		return o, o.wrong
	}
	blocks := o.Engine.Blocks
	o.Engine = o.Engine.WithDefaults(m.Config())
	if o.Spec.Backend == "cuda" {
		o.Engine.Blocks = blocks // 0 is what the device has room for
	}
	return o, o.Spec.Check(m.decoder)
}

// defaultAffinity is that of [Affinity].
const defaultAffinity = 4

// maxReplicas bounds [Replicas].
const maxReplicas = 64

// TP divides heads, feed-forward channels and vocabulary among n ranks.
func TP(n int) Option { return func(o *options) { o.Layout.TP = n } }

// PP divides the layers among n stages, each of TP ranks.
func PP(n int) Option { return func(o *options) { o.Layout.PP = n } }

// DType is the element type of weights and cache: "f32", which is the default, or
// "bf16".
func DType(name string) Option {
	return func(o *options) {
		t, ok := tensor.ParseDType(name)
		if !ok && o.wrong == nil {
			o.wrong = fmt.Errorf("no element type is called %q; weights and cache can be f32 or bf16", name)
		}
		o.Engine.DType = t
	}
}

// Threads is how many threads each rank computes with; the default is a fair share
// of the host's cores.
func Threads(n int) Option { return func(o *options) { o.Spec.Threads = n } }

// Backend compiles the programs of all ranks: "cpu" is C, "portable" needs no
// compiler, "interp" is the reference, and "cuda" is for GPUs, see [Device]. The default
// is C where there is a compiler.
func Backend(name string) Option { return func(o *options) { o.Spec.Backend = name } }

// Device is where the ranks run: "cpu", which is the default, or "cuda", where rank i of
// a host has GPU i of those that the process may use: weights and cache stay there. With
// fewer GPUs than ranks the job is refused.
func Device(name string) Option {
	return func(o *options) {
		switch name {
		case "cpu":
		case "cuda":
			o.Spec.Backend = name
		default:
			if o.wrong == nil {
				o.wrong = fmt.Errorf("there is no device %q; there are cpu and cuda", name)
			}
		}
	}
}

// Blocks is the size of the cache in blocks; the default holds four requests of the
// whole context, or as many blocks as a GPU has room for if those are fewer.
func Blocks(n int) Option { return func(o *options) { o.Engine.Blocks = n } }

// BlockSize is how many tokens a block of the cache holds; the default is 16.
func BlockSize(n int) Option { return func(o *options) { o.Engine.BlockSize = n } }

// Context is the most tokens of a request, prompt and continuation; the default is
// the model's.
func Context(n int) Option { return func(o *options) { o.Engine.Context = n } }

// MaxRows is how many requests a step computes at once; the default is 32.
func MaxRows(n int) Option { return func(o *options) { o.Engine.MaxRows = n } }

// Limit is how many unfinished requests a replica takes, queued and in flight; one
// more is refused with a [*QueueFull]. The default is 256.
func Limit(n int) Option { return func(o *options) { o.Spec.Limit = n } }

// Chunk is how many tokens of prompts a step computes at most when it also gives
// others their next token, or when several steps are in flight; the default is 64. A
// larger one finishes prompts in fewer steps, and those others wait longer.
func Chunk(n int) Option { return func(o *options) { o.Spec.Chunk = n } }

// NoSharing computes every prompt whole, whatever the cache has of it; for comparison.
func NoSharing() Option { return func(o *options) { o.Spec.NoSharing = true } }

// Deadline is how long a rank may be silent, or compute 16 tokens of a prompt or one
// that is generated, before the job has failed; the default is 10 s.
func Deadline(d time.Duration) Option { return func(o *options) { o.Spec.Deadline = d } }

// Trace makes every rank record its latest regions, so many of them, for
// [Job.Recorded].
func Trace(regions int) Option { return func(o *options) { o.Engine.Regions = regions } }

// Replicas starts n sets of ranks and sends each request to the one that has the
// fewest, or to one that has its beginning in its cache: see [Affinity].
func Replicas(n int) Option { return func(o *options) { o.replicas = n } }

// Affinity is how many more unfinished requests a replica may have than the least busy
// one and still get a request whose beginning it has in its cache; 0 never looks for
// that. The default is 4: computing a beginning again delays as much as a few rows more
// in each step.
func Affinity(n int) Option { return func(o *options) { o.affinity = n } }

// Name is the name of the job. There is one of a name.
func Name(name string) Option { return func(o *options) { o.name = name } }

// InProcess makes the ranks goroutines of this process.
func InProcess() Option { return func(o *options) { o.inProcess = true } }
