// Package preflight finds out whether the GPUs of a host exchange tensors directly with
// one another, before a job depends on it: on some hosts the first collective hangs for
// ever, or gives other bits, unless it goes through memory of the host.
//
// [Check] lets throw-away processes, one for each GPU, reduce known values under a
// deadline, and once more through memory of the host if that fails. What was found is
// kept in the cache folder under the driver, the library and the devices, where
// [Remembered] finds it.
package preflight

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/nccl"
	"forgekernel/forge/backend/objects"
)

// Verdict is what is known of the devices of a host.
type Verdict struct {
	Direct  bool      `json:"direct"`        // whether they exchange without memory of the host between
	Why     string    `json:"why,omitempty"` // what went wrong, if not
	Driver  string    `json:"driver"`        // the newest CUDA that it serves
	NCCL    string    `json:"nccl"`
	Devices []string  `json:"devices"` // UUIDs, in order
	Taken   time.Time `json:"taken"`
	Took    float64   `json:"took_s"` // seconds of the processes
}

func (v Verdict) String() string {
	what := fmt.Sprintf("%d GPUs exchange tensors directly", len(v.Devices))
	if !v.Direct {
		what = fmt.Sprintf("%d GPUs exchange tensors through memory of the host: directly, %s", len(v.Devices), v.Why)
	}
	return fmt.Sprintf("%s (NCCL %s, driver for CUDA %s, %s)", what, v.NCCL, v.Driver, v.Taken.Format(time.DateOnly))
}

// deadline bounds each of the two attempts.
const deadline = 15 * time.Second

// disable is the variable by which NCCL leaves out direct exchange. Who has set it has
// decided, and nothing is examined.
const disable = "NCCL_P2P_DISABLE"

// Check is the verdict about the devices that this process may use, remembered or found
// out. command is what starts a process that calls [Attend]; rank and size follow it. It
// returns nil where there is nothing to find out: fewer than two devices, or somebody has
// decided.
func Check(ctx context.Context, command ...string) (*Verdict, error) {
	v, err := known()
	if err != nil || v == nil {
		return nil, err
	}
	if found, err := read(v.file()); err == nil {
		return found, nil
	}
	return v, v.find(ctx, command)
}

// Remembered is the verdict of an earlier Check, nil when there is none.
func Remembered() *Verdict {
	v, err := known()
	if err != nil || v == nil {
		return nil
	}
	if v, err = read(v.file()); err != nil {
		return nil
	}
	return v
}

// Newest is the latest verdict about so many devices, nil when there is none. It asks no
// driver.
func Newest(devices int) *Verdict {
	dir, err := objects.Dir("cuda")
	if err != nil {
		return nil
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "direct-*.json")) // the pattern is right
	var newest *Verdict
	for _, path := range paths {
		if v, err := read(path); err == nil && len(v.Devices) == devices && (newest == nil || v.Taken.After(newest.Taken)) {
			newest = v
		}
	}
	return newest
}

// known is a verdict without an outcome; nil where there is nothing to find out.
func known() (*Verdict, error) {
	if _, decided := os.LookupEnv(disable); decided {
		return nil, nil
	}
	cuda, err := driver.Open()
	if err != nil {
		return nil, err
	}
	list, err := cuda.Devices()
	if err != nil || len(list) < 2 {
		return nil, err
	}
	lib, err := nccl.Open()
	if err != nil {
		return nil, err
	}
	v := &Verdict{Driver: cuda.Version.String(), NCCL: lib.Version.String()}
	for _, d := range list {
		v.Devices = append(v.Devices, d.UUID)
	}
	return v, nil
}

// file is where a verdict about these devices is kept; empty when there is no place.
func (v *Verdict) file() string {
	dir, err := objects.Dir("cuda")
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{v.Driver, v.NCCL}, v.Devices...), "\n")))
	return filepath.Join(dir, "direct-"+hex.EncodeToString(sum[:8])+".json")
}

// maxFile bounds a verdict, in bytes.
const maxFile = 64 << 10

func read(path string) (*Verdict, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s has %d bytes", path, info.Size())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	v := &Verdict{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return nil, err
	}
	if len(v.Devices) < 2 || !v.Direct && v.Why == "" {
		return nil, fmt.Errorf("%s is not a verdict", path)
	}
	return v, nil
}

// write keeps a verdict, whole or not at all.
func (v *Verdict) write(path string) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	part := fmt.Sprintf("%s.%d", path, os.Getpid())
	return errors.Join(os.WriteFile(part, append(raw, '\n'), 0o600), os.Rename(part, path))
}

// find runs the processes: directly, and if that fails through memory of the host.
func (v *Verdict) find(ctx context.Context, command []string) error {
	v.Taken = time.Now().UTC().Truncate(time.Second)
	directly := attempt(ctx, len(v.Devices), command, nil)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if v.Direct = directly == nil; !v.Direct {
		v.Why = directly.Error()
		if err := attempt(ctx, len(v.Devices), command, []string{disable + "=1"}); err != nil {
			return fmt.Errorf("the GPUs of this host do not exchange tensors: directly, %w; through memory of the host, %w", directly, err)
		}
	}
	v.Took = time.Since(v.Taken).Seconds()
	if path := v.file(); path != "" {
		return v.write(path)
	}
	return nil
}

// attempt runs one process for each device, with some variables more, and returns the
// first failure.
func attempt(ctx context.Context, devices int, command, variables []string) error {
	lib, err := nccl.Open()
	if err != nil {
		return err
	}
	id, err := lib.NewID()
	if err != nil {
		return err
	}
	return together(ctx, devices, command, variables, hex.EncodeToString(id[:])+"\n")
}

// together runs the processes of all ranks and ends them all with the first failure.
func together(ctx context.Context, size int, command, variables []string, input string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("they did not end within %v", deadline))
	defer cancel()
	failures := make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		wg.Go(func() {
			if failures[rank] = runRank(ctx, rank, size, command, variables, input); failures[rank] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	for _, err := range failures {
		if err != nil && !errors.Is(err, errEnded) {
			return err
		}
	}
	return nil
}

var errEnded = errors.New("it was ended because of another")

func runRank(ctx context.Context, rank, size int, command, variables []string, input string) error {
	args := append(append([]string{}, command[1:]...), fmt.Sprint(rank), fmt.Sprint(size))
	cmd := exec.CommandContext(ctx, command[0], args...)
	cmd.Env = append(os.Environ(), variables...)
	cmd.Stdin = strings.NewReader(input)
	cmd.SysProcAttr = endsWithParent()
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && strings.Contains(string(out), agreed):
		return nil
	case ctx.Err() != nil:
		return errEnded
	case err == nil:
		err = errors.New("it says nothing of what it found")
	}
	return fmt.Errorf("rank %d: %w: %s", rank, err, strings.TrimSpace(string(out[max(0, len(out)-500):])))
}
