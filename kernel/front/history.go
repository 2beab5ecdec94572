package front

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of the history file. A file beyond either is cut to its newest half
// when a kernel starts.
const (
	maxHistoryEntries = 20_000
	maxHistoryBytes   = 16 << 20
	// maxHistorySession is beyond every number that was ever given; a file that
	// says otherwise must not make the next one overflow.
	maxHistorySession = 1 << 40
	// maxHistoryOutput bounds the text of a result kept with its input.
	maxHistoryOutput = 4 << 10
	// lockTime is how long an access waits for other kernels.
	lockTime = time.Second
)

// entry is one line of the history file. An entry without input marks the
// start of a numbered session, so that an empty session keeps its number.
type entry struct {
	Session int     `json:"s"`
	Line    int     `json:"n"`
	Input   string  `json:"in,omitempty"`
	Output  *string `json:"out,omitempty"` // text/plain of the result, if any
}

// history is what was executed: entries of earlier kernels, read from the file
// once and on first need, and those of this one, kept in memory and appended to
// the file. Several kernels may share one file; every access holds its lock.
type history struct {
	path string // empty: memory only

	mu       sync.Mutex
	last     int   // highest session number known
	sessions []int // of this process: the main shell first, then subshells
	past     []entry
	loaded   bool
	current  []entry
}

// openHistory numbers a new session in the file at path, creating it if need
// be. A file that cannot be used is an error that names it.
func openHistory(path string) (*history, error) {
	h := &history{path: path}
	if path != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
	}
	if _, err := h.newSession(); err != nil {
		return nil, err
	}
	return h, nil
}

// newSession numbers one more sequence of executions: of the kernel's main
// shell or of a subshell, whose lines would otherwise share numbers.
func (h *history) newSession() (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.path == "" {
		h.last++
		h.sessions = append(h.sessions, h.last)
		return h.last, nil
	}
	err := h.locked(func(f *os.File) error {
		past, size, err := readEntries(f)
		if err != nil {
			return err
		}
		for _, e := range past {
			h.last = max(h.last, e.Session)
		}
		h.last++
		mark := entry{Session: h.last}
		if len(past) > maxHistoryEntries || size > maxHistoryBytes {
			return rewriteEntries(h.path, append(newestHalf(past), mark))
		}
		return appendEntry(f, mark)
	})
	if err != nil {
		return 0, fmt.Errorf("history: %w", err)
	}
	h.sessions = append(h.sessions, h.last)
	return h.last, nil
}

// add records one execution in memory. It shortens a long output in e too.
func (h *history) add(e *entry) {
	if e.Output != nil && len(*e.Output) > maxHistoryOutput {
		cut := validPrefix(*e.Output, maxHistoryOutput) + "…"
		e.Output = &cut
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = append(h.current, *e)
	if len(h.current) > maxHistoryEntries {
		h.current = slices.Clone(h.current[len(h.current)/2:])
	}
}

// store appends one execution to the file.
func (h *history) store(e entry) error {
	if h.path == "" {
		return nil
	}
	if err := h.locked(func(f *os.File) error { return appendEntry(f, e) }); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// all returns the entries of earlier sessions and of this one, oldest first.
func (h *history) all() ([]entry, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.loaded && h.path != "" {
		err := h.locked(func(f *os.File) error {
			read, _, err := readEntries(f)
			for _, e := range read {
				if e.Input != "" && !slices.Contains(h.sessions, e.Session) {
					h.past = append(h.past, e)
				}
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
	}
	h.loaded = true
	return slices.Concat(h.past, h.current), nil
}

// locked runs f with the history file open for appending and locked against
// other kernels.
func (h *history) locked(f func(*os.File) error) error {
	for {
		file, err := os.OpenFile(h.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		if err := lock(file); err != nil {
			file.Close()
			return err
		}
		if !sameFile(file, h.path) { // another kernel has just replaced it
			file.Close()
			continue
		}
		return errors.Join(f(file), file.Close())
	}
}

// lock locks a file. Another kernel holds the lock for a moment only, unless it
// was stopped at the wrong one: a cell must not wait for that.
func lock(f *os.File) error {
	for deadline := time.Now().Add(lockTime); ; time.Sleep(lockTime / 100) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if err != unix.EINTR && err != unix.EWOULDBLOCK || time.Now().After(deadline) {
			return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

func sameFile(f *os.File, path string) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(here, there)
}

// readEntries reads the whole file. A line that is no entry, such as the torn
// end of a write by a kernel that was killed, is passed over.
func readEntries(f *os.File) (entries []entry, size int64, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, 0, err
	}
	r := bufio.NewReaderSize(io.LimitReader(f, 4*maxHistoryBytes), 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		size += int64(len(line))
		var e entry
		if json.Unmarshal(line, &e) == nil && e.Session > 0 && e.Session <= maxHistorySession {
			entries = append(entries, e)
		}
		if err == io.EOF {
			return entries, size, nil
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

func appendEntry(f *os.File, e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	// The leading newline ends a torn line of an earlier writer; readers pass
	// over empty lines.
	if torn(f) {
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(append(line, '\n'))
	return err
}

func torn(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] != '\n'
}

// newestHalf keeps the newest entries that fill half of either bound.
func newestHalf(entries []entry) []entry {
	bytes := 0
	for i := len(entries) - 1; i >= 0; i-- {
		bytes += len(entries[i].Input) + 64
		if len(entries)-i > maxHistoryEntries/2 || bytes > maxHistoryBytes/2 {
			return entries[i+1:]
		}
	}
	return entries
}

// rewriteEntries replaces the file through a sibling, so that a crash leaves
// either the old or the new one.
func rewriteEntries(path string, entries []entry) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for _, e := range entries {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	sibling, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = sibling.Write(buf.Bytes())
	if err = errors.Join(err, sibling.Close()); err == nil {
		err = os.Rename(sibling.Name(), path)
	}
	if err != nil {
		os.Remove(sibling.Name())
	}
	return err
}
