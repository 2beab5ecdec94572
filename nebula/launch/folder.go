package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/nebula/proc"
)

// Folder holds the records of the jobs that this user started on this host, one
// folder each. It is what is left to find the ranks of a process that was killed
// where neither the parent-death signal nor the control channel ended them.
type Folder string

const (
	recordName    = "job.json"
	recordVersion = 1
	recordSize    = 1 << 20
	partPrefix    = ".part-" // a record that is being made or removed; the process that does it follows

	// endTime is how long a killed process may take to disappear, and polite how
	// long before that it may take to end by itself.
	endTime = 5 * time.Second
	polite  = 2 * time.Second
)

// Record is what is kept of a job.
type Record struct {
	Version   int       `json:"version"`
	Job       string    `json:"job"`
	Epoch     uint32    `json:"epoch"`
	Command   []string  `json:"command"`
	Boot      string    `json:"boot"`      // the boot in which the numbers of processes are meant
	Namespace string    `json:"namespace"` // and their namespace
	Parent    proc.ID   `json:"parent"`
	Ranks     []proc.ID `json:"ranks"`

	Dir string `json:"-"` // where the record was found
}

// Orphaned reports whether the process that started the job has gone.
func (r Record) Orphaned() bool { return !r.Parent.Alive() }

// OpenFolder returns the folder of records: below XDG_RUNTIME_DIR, else below the
// folder for temporary files, and in both cases this user's alone.
func OpenFolder() (Folder, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("nebula-%d", os.Getuid()))
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) {
		if info, err := os.Stat(runtime); err == nil && info.IsDir() {
			path = filepath.Join(runtime, "nebula")
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("folder of jobs: %w", err)
	}
	var stat unix.Stat_t
	switch err := unix.Lstat(path, &stat); {
	case err != nil:
		return "", fmt.Errorf("folder of jobs: %s: %w", path, err)
	case stat.Mode&unix.S_IFMT != unix.S_IFDIR || int(stat.Uid) != os.Getuid() || stat.Mode&0o077 != 0:
		return "", fmt.Errorf("folder of jobs: %s is not a folder that belongs to this user alone: remove it, or set XDG_RUNTIME_DIR", path)
	}
	return Folder(path), nil
}

// here says which boot and which namespace numbers of processes belong to.
func here() (boot, namespace string) {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ = os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(id)), namespace
}

// Create records a job and returns the folder made for it, which nobody ever sees without its record.
func (f Folder) Create(r Record) (dir string, err error) {
	making := f.part(r.Parent, r.Job)
	if err := os.Mkdir(making, 0o700); err != nil {
		return "", fmt.Errorf("record of the job: %w", err)
	}
	dir = filepath.Join(string(f), r.Job)
	if err = r.write(making); err == nil {
		if err = os.Rename(making, dir); errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("job %s runs already: forge nebula ps shows it", r.Job)
		}
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(making))
	}
	return dir, nil
}

// part is the name of a job's folder without a valid record.
func (f Folder) part(by proc.ID, job string) string {
	return filepath.Join(string(f), fmt.Sprintf("%s%d-%d-%s", partPrefix, by.PID, by.Start, job))
}

// remove removes the folder of a job, of which nobody ever sees a part either.
func (f Folder) remove(dir string) error {
	self, err := proc.Self()
	if err != nil {
		return err
	}
	part := f.part(self, filepath.Base(dir))
	switch err := os.Rename(dir, part); {
	case errors.Is(err, fs.ErrNotExist): // somebody else did
		return nil
	case err != nil:
		return err
	}
	return os.RemoveAll(part)
}

func (r Record) write(dir string) error {
	r.Version = recordVersion
	r.Boot, r.Namespace = here()
	text, err := json.Marshal(r)
	if err == nil {
		next := filepath.Join(dir, partPrefix+recordName)
		if err = os.WriteFile(next, text, 0o600); err == nil {
			err = os.Rename(next, filepath.Join(dir, recordName))
		}
	}
	if err != nil {
		return fmt.Errorf("record of the job: %w", err)
	}
	return nil
}

// readRecord reads what may have been written by anybody, at any time.
func readRecord(dir string) (Record, error) {
	f, err := os.OpenFile(filepath.Join(dir, recordName), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Record{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, recordSize))
	if err != nil {
		return Record{}, err
	}
	return parseRecord(text, dir)
}

func parseRecord(text []byte, dir string) (Record, error) {
	r := Record{Dir: dir}
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("%s: %w", filepath.Join(dir, recordName), err)
	}
	switch {
	case r.Version != recordVersion:
		return Record{}, fmt.Errorf("%s: version %d, not %d", filepath.Join(dir, recordName), r.Version, recordVersion)
	case r.Parent.PID < 1 || slices.ContainsFunc(r.Ranks, func(id proc.ID) bool { return id.PID <= 1 }):
		return Record{}, fmt.Errorf("%s: names no processes of a job", filepath.Join(dir, recordName))
	}
	return r, nil
}

// Jobs returns the records in the order of their names. The error is about those
// that cannot be read.
func (f Folder) Jobs() ([]Record, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, err
	}
	var jobs []Record
	var bad []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), partPrefix) {
			continue
		}
		r, err := readRecord(filepath.Join(string(f), e.Name()))
		if err != nil {
			bad = append(bad, err)
			continue
		}
		jobs = append(jobs, r)
	}
	slices.SortFunc(jobs, func(a, b Record) int { return cmp.Compare(a.Job, b.Job) })
	return jobs, errors.Join(bad...)
}

// Reap ends the ranks of jobs whose parent has gone and removes their records.
// It returns the jobs that it removed. Records that cannot be read stay, and are
// the error, as ranks that do not end.
func (f Folder) Reap() ([]Record, error) {
	f.removeParts()
	jobs, err := f.Jobs()
	errs := []error{err}
	var reaped []Record
	boot, namespace := here()
	for _, r := range jobs {
		switch {
		case r.Boot == boot && r.Namespace != namespace:
			continue // its processes have other numbers here
		case r.Boot == boot && !r.Orphaned():
			continue
		case r.Boot == boot:
			err = r.kill(context.Background(), 0)
		default:
			err = nil // nothing has survived
		}
		if err == nil {
			err = f.remove(r.Dir)
		}
		if err == nil {
			reaped = append(reaped, r)
		}
		errs = append(errs, err)
	}
	return reaped, errors.Join(errs...)
}

// removeParts removes what is left of processes that ended between two steps of
// Create or remove; no rank belongs to it.
func (f Folder) removeParts() {
	paths, _ := filepath.Glob(filepath.Join(string(f), partPrefix+"*"))
	for _, path := range paths {
		var by proc.ID
		if _, err := fmt.Sscanf(filepath.Base(path), partPrefix+"%d-%d-", &by.PID, &by.Start); err == nil && !by.Alive() {
			os.RemoveAll(path)
		}
	}
}

// Kill ends the ranks of one job, whether or not its parent lives, and returns
// how many there were. The parent, if it lives, learns it as from any end of a rank.
func (f Folder) Kill(ctx context.Context, job string) (int, error) {
	if !jobName.MatchString(job) {
		return 0, fmt.Errorf("%q is not the name of a job", job)
	}
	r, err := readRecord(filepath.Join(string(f), job))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no job %s", job)
	}
	if err != nil {
		return 0, err
	}
	if boot, namespace := here(); r.Boot == boot && r.Namespace != namespace {
		return 0, fmt.Errorf("job %s runs in another namespace of processes", job)
	}
	n := len(r.living())
	if err := r.kill(ctx, polite); err != nil {
		return n, err
	}
	if r.Orphaned() {
		return n, f.remove(r.Dir)
	}
	return n, nil
}

// living are the ranks that run. A number that was used again is not among them.
func (r Record) living() []proc.ID {
	if boot, _ := here(); r.Boot != boot {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Ranks), func(id proc.ID) bool { return !id.Alive() })
}

// kill ends the ranks: with SIGTERM first when they are given time.
func (r Record) kill(ctx context.Context, grace time.Duration) error {
	if grace > 0 {
		for _, id := range r.living() {
			id.Signal(unix.SIGTERM)
			id.Signal(unix.SIGCONT)
		}
		if r.endWithin(ctx, grace) {
			return nil
		}
	}
	for _, id := range r.living() {
		if err := id.Signal(unix.SIGKILL); err != nil {
			return fmt.Errorf("job %s: process %d: %w", r.Job, id.PID, err)
		}
	}
	if !r.endWithin(context.Background(), endTime) {
		return fmt.Errorf("job %s: %d processes did not end within %s of being killed", r.Job, len(r.living()), endTime)
	}
	return nil
}

// endWithin reports whether the ranks, which are not our children, end within a time.
func (r Record) endWithin(ctx context.Context, d time.Duration) bool {
	return within(ctx, d, func() bool { return len(r.living()) == 0 })
}

// within reports whether processes end within a time. They are looked at, and it is looks
// that count, for time passes also while all stand still.
func within(ctx context.Context, d time.Duration, ended func() bool) bool {
	const apart = 5 * time.Millisecond
	for range d / apart {
		if ended() {
			return true
		}
		select {
		case <-ctx.Done():
			return ended()
		case <-time.After(apart):
		}
	}
	return ended()
}

// Log is the file that holds what a rank printed.
func (r Record) Log(rank int) string { return filepath.Join(r.Dir, logName(rank)) }
