// Package objects keeps compiled objects on disk between runs of the program.
//
// An object is a file under a name that its maker derives from everything that it
// depends on. It carries a checksum, which is verified before it is used; one that
// is damaged is removed and made again. Objects appear by renaming, so that several
// processes may use one cache, and those that were used longest ago make room for
// new ones.
//
// The cache is in the folder FORGE_CACHE_DIR; else in forge below the user's cache
// folder; else, where there is no such folder or it cannot be written, in
// forge-UID below that for temporary files. Nobody else may own it or write to it.
// FORGE_CACHE_LIMIT is its size in MiB.
package objects

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultLimit is how many bytes a cache holds unless FORGE_CACHE_LIMIT says
// otherwise.
const DefaultLimit = 256 << 20

// MaxObject bounds the size of an object.
const MaxObject = 256 << 20

// abandoned is the age at which the folder of a build has no process any more.
const abandoned = time.Hour

const (
	suffix = ".so"
	builds = "build-"
)

// Cache is a folder of objects.
type Cache struct {
	Dir   string
	Limit int64 // bytes
}

// Object is one of a cache.
type Object struct {
	Name  string
	Bytes int64
	Used  time.Time
}

// Open returns the cache of one kind of objects, and makes its folder.
func Open(kind string) (*Cache, error) {
	dir, err := Dir(kind)
	if err != nil {
		return nil, err
	}
	c := &Cache{Dir: dir, Limit: DefaultLimit}
	if text := os.Getenv("FORGE_CACHE_LIMIT"); text != "" {
		mib, err := strconv.ParseInt(text, 10, 32)
		if err != nil || mib < 0 {
			return nil, fmt.Errorf("FORGE_CACHE_LIMIT is %q; it is a number of MiB", text)
		}
		c.Limit = mib << 20
	}
	return c, nil
}

// ErrMissing says that a cache does not have an object.
var ErrMissing = errors.New("there is no such object")

// Find returns the path of an object whose checksum is right. The error is
// [ErrMissing], or says what is wrong with an object that has been removed.
func (c *Cache) Find(name string) (string, error) {
	path := filepath.Join(c.Dir, name+suffix)
	switch err := check(path); {
	case err == nil:
		now := time.Now()
		_ = os.Chtimes(path, now, now) // another process may have removed it; the loader will tell
		return path, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", ErrMissing
	default:
		c.Drop(name)
		return "", fmt.Errorf("the object %s was damaged: %w", filepath.Base(path), err)
	}
}

// Read returns the content of an object whose checksum is right; errors are those of
// [Cache.Find].
func (c *Cache) Read(name string) ([]byte, error) {
	path, err := c.Find(name)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return raw[:max(0, len(raw)-sha256.Size)], nil
}

// Drop removes an object, if it is there.
func (c *Cache) Drop(name string) { _ = os.Remove(filepath.Join(c.Dir, name+suffix)) }

// Build calls work with an empty folder, in which it leaves an object in a file of
// the name it returns, and keeps the object. The folder is removed in any case.
func (c *Cache) Build(name string, work func(dir string) (file string, err error)) (string, error) {
	dir, err := os.MkdirTemp(c.Dir, builds)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file, err := work(dir)
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, file)
	if err := seal(file); err != nil {
		return "", err
	}
	// Of a clock with what Find notes: that of the file system may be some milliseconds behind.
	now := time.Now()
	if err := os.Chtimes(file, now, now); err != nil {
		return "", err
	}
	path := filepath.Join(c.Dir, name+suffix)
	if err := os.Rename(file, path); err != nil {
		return "", err
	}
	return path, c.makeRoom(name + suffix)
}

// makeRoom removes what was used longest ago, but for one object, and what builds
// left behind whose process died.
func (c *Cache) makeRoom(keep string) error {
	list, err := c.Objects()
	if err != nil {
		return err
	}
	var total int64
	for _, o := range list {
		total += o.Bytes
		if o.Name != keep && total > c.Limit {
			_ = os.Remove(filepath.Join(c.Dir, o.Name)) // gone already, or the next build tries again
			total -= o.Bytes
		}
	}
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), builds) && time.Since(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(c.Dir, e.Name()))
		}
	}
	return nil
}

// Objects lists what the cache holds, the one that was used last first.
func (c *Cache) Objects() ([]Object, error) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return nil, err
	}
	var list []Object
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), suffix) {
			continue // another process has removed it, or it is none of ours
		}
		list = append(list, Object{e.Name(), info.Size(), info.ModTime()})
	}
	slices.SortFunc(list, func(a, b Object) int {
		return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// Clear removes all objects and returns those that it removed.
func (c *Cache) Clear() ([]Object, error) {
	list, err := c.Objects()
	if err != nil {
		return nil, err
	}
	for i, o := range list {
		if err := os.Remove(filepath.Join(c.Dir, o.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return list[:i], err
		}
	}
	return list, nil
}

// seal appends the checksum of an object to its file. Loaders do not look behind
// the end that the file's headers give.
func seal(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(raw) > MaxObject-sha256.Size {
		return fmt.Errorf("it has %d MiB; an object may have %d", len(raw)>>20, MaxObject>>20)
	}
	sum := sha256.Sum256(raw)
	return os.WriteFile(path, append(raw, sum[:]...), 0o600)
}

// check verifies the owner and the checksum of an object.
func check(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if err := ours(path, info); err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() < sha256.Size || info.Size() > MaxObject {
		return errors.New("it is not an object of this cache")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	end := len(raw) - sha256.Size
	if end < 0 {
		return errors.New("it ends too soon")
	}
	if sum := sha256.Sum256(raw[:end]); !bytes.Equal(sum[:], raw[end:]) {
		return errors.New("the checksum does not match")
	}
	return nil
}
