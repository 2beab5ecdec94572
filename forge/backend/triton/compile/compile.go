// Package compile has Triton make machine code of kernels that package triton wrote, in
// a child process of the host's Python, which needs no GPU.
//
// The child is a small program of this package. Messages between the two are JSON, each
// behind its length. The child has a folder of its own for what Triton writes, ends with
// the context, with its group, and with this process; what it says is checked before it
// is used. Machine code is kept by the content of what it was made from.
package compile

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"time"

	"forgekernel/forge/backend/objects"
	"forgekernel/forge/backend/triton"
	"forgekernel/forge/tensor"
)

//go:embed helper/compile.py
var helper []byte

// Limits of a child.
const (
	// DefaultLimit is the default of [Compiler.Limit].
	DefaultLimit = 5 * time.Minute
	maxMessage   = 64 << 20 // bytes of a message
	maxShared    = 1 << 20  // bytes of shared memory of a block
	maxWarps     = 32
	maxChildren  = 8 // at a time, of one [Compiler.Compile]
	leastJobs    = 4 // that are worth a child
)

// Compiler is a Python with Triton.
type Compiler struct {
	Python  string // the path
	Version string // of Triton: "3.6.0"
	// Limit is how long the compilation of one [Compiler.Compile] may take.
	Limit time.Duration
}

// Missing is the error of a host whose Python has no Triton.
type Missing struct{ Reason string }

func (m *Missing) Error() string { return "there is no Triton: " + m.Reason }

// Open finds the Python that FORGE_TRITON_PYTHON names, else python3 in PATH, and asks
// it for Triton. The error is a [*Missing], or the cause that ended ctx.
func Open(ctx context.Context) (*Compiler, error) {
	name := os.Getenv("FORGE_TRITON_PYTHON")
	if name == "" {
		name = "python3"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, &Missing{err.Error()}
	}
	c := &Compiler{Python: path, Limit: DefaultLimit}
	child, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	defer child.close()
	c.Version = child.version
	return c, nil
}

// Job is a kernel to compile as one of its candidates says.
type Job struct {
	Kernel    *triton.Kernel
	Candidate int
	// Aligned says of each argument that its address is a multiple of 16 bytes.
	Aligned []bool
}

// Binary is machine code with what is needed to launch it. Its parameters are the
// arguments of the kernel in order; then, if the kernel has faults, the address of the
// word of faults and the number of the step; then two addresses that are 0.
type Binary struct {
	Name   string `json:"name"`   // of the function in the cubin
	Shared int    `json:"shared"` // bytes of dynamic shared memory of a block
	Warps  int    `json:"warps"`  // of a block, of 32 threads
	Cubin  []byte `json:"cubin"`
	Error  string `json:"error,omitempty"` // of Triton; the other fields are then empty
}

// request is what the child is asked.
type request struct {
	Text       string `json:"text"`
	Capability int    `json:"capability"`
	Kernels    []ask  `json:"kernels"`
}

type ask struct {
	Function  string            `json:"function"`
	Signature map[string]string `json:"signature"`
	Constants map[string]int    `json:"constants"`
	Aligned   []string          `json:"aligned"`
	Warps     int               `json:"warps"`
	Stages    int               `json:"stages"`
}

// pointers are the types of arguments in a signature.
var pointers = map[tensor.DType]string{
	tensor.F32: "*fp32", tensor.F64: "*fp64", tensor.F16: "*fp16", tensor.BF16: "*bf16",
	tensor.I64: "*i64", tensor.I32: "*i32", tensor.Bool: "*i1",
}

func (j Job) ask() ask {
	k, l := j.Kernel, j.Kernel.Candidates[j.Candidate]
	a := ask{
		Function: k.Name, Signature: make(map[string]string), Constants: make(map[string]int),
		Aligned: []string{}, Warps: l.Warps, Stages: l.Stages,
	}
	for i, p := range k.Arguments {
		a.Signature[p.Name] = pointers[p.Param.DType()]
		if j.Aligned[i] {
			a.Aligned = append(a.Aligned, p.Name)
		}
	}
	if k.Faults {
		a.Signature["fault_ptr"], a.Signature["step"] = "*i32", "i32"
	}
	for _, list := range [][]triton.Constant{k.Constants, l.Constants} {
		for _, c := range list {
			a.Constants[c.Name] = c.Value
		}
	}
	return a
}

// Compile makes machine code for a compute capability, such as 90, or takes what was
// made before. What Triton refuses has its error in the result; the error of Compile is
// that the child failed, or the cause that ended ctx.
func (c *Compiler) Compile(ctx context.Context, jobs []Job, capability int) ([]Binary, error) {
	cache, err := objects.Open("triton")
	if err != nil {
		return nil, err
	}
	out := make([]Binary, len(jobs))
	keys := make([]string, len(jobs))
	var missing []int
	for i, j := range jobs {
		keys[i] = c.key(j, capability)
		if raw, err := cache.Read(keys[i]); err != nil || json.Unmarshal(raw, &out[i]) != nil || out[i].check() != nil {
			missing = append(missing, i)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, fmt.Errorf("it took longer than the limit of %v", c.Limit))
	defer cancel()
	children := min(maxChildren, runtime.GOMAXPROCS(0), (len(missing)+leastJobs-1)/leastJobs)
	errs := make([]error, children)
	var all sync.WaitGroup
	for i := range children {
		part := missing[i*len(missing)/children : (i+1)*len(missing)/children]
		all.Go(func() {
			made, err := c.run(ctx, requestOf(jobs, part, capability))
			for n := 0; n < len(made) && err == nil; n++ {
				if out[part[n]] = made[n]; made[n].Error == "" {
					err = keep(cache, keys[part[n]], made[n])
				}
			}
			errs[i] = err
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// requestOf asks for some of the jobs, by index.
func requestOf(jobs []Job, part []int, capability int) request {
	r := request{Capability: capability}
	m := &triton.Module{Name: "kernels"}
	for n, i := range part {
		k := *jobs[i].Kernel
		k.Rename(fmt.Sprintf("%s_%d", k.Name, n))
		m.Kernels = append(m.Kernels, &k)
		r.Kernels = append(r.Kernels, Job{&k, jobs[i].Candidate, jobs[i].Aligned}.ask())
	}
	r.Text = m.String()
	return r
}

// key is the name under which machine code is kept.
func (c *Compiler) key(j Job, capability int) string {
	text := (&triton.Module{Kernels: []*triton.Kernel{j.Kernel}}).String()
	a, err := json.Marshal(j.ask())
	if err != nil {
		panic(err) // it is of strings and numbers
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s\x00%s\x00%s", c.Version, capability, helper, text, a))
	return hex.EncodeToString(sum[:])
}

func keep(cache *objects.Cache, key string, b Binary) error {
	_, err := cache.Build(key, func(dir string) (string, error) {
		raw, err := json.Marshal(b)
		if err != nil {
			return "", err
		}
		return "binary.json", os.WriteFile(filepath.Join(dir, "binary.json"), raw, 0o600)
	})
	return err
}

// run asks a new child.
func (c *Compiler) run(ctx context.Context, r request) ([]Binary, error) {
	child, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	defer child.close()
	if err := child.send(r); err != nil {
		return nil, child.failed(err)
	}
	list := make([]Binary, len(r.Kernels))
	for i := range list {
		if err := child.receive(&list[i]); err != nil {
			return nil, child.failed(err)
		}
		if err := list[i].check(); err != nil {
			return nil, fmt.Errorf("what Triton made of %s cannot be used: %w", r.Kernels[i].Function, err)
		}
	}
	return list, nil
}

var symbol = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_]\w{0,200}$`) })

// check says what is wrong with a result that is no error.
func (b *Binary) check() error {
	switch {
	case b.Error != "":
		return nil
	case !symbol().MatchString(b.Name):
		return fmt.Errorf("its function is called %q", b.Name)
	case b.Shared < 0 || b.Shared > maxShared:
		return fmt.Errorf("it wants %d bytes of shared memory", b.Shared)
	case b.Warps < 1 || b.Warps > maxWarps:
		return fmt.Errorf("it wants %d warps", b.Warps)
	case len(b.Cubin) < 4 || string(b.Cubin[:4]) != "\x7fELF":
		return errors.New("its machine code is no ELF file")
	}
	return nil
}
