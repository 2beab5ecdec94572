package gomod

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	modzip "golang.org/x/mod/zip"
	"golang.org/x/sys/unix"

	"forgekernel/display"
)

// Mod returns the go.mod of a module.
func (f *Fetcher) Mod(ctx context.Context, m module.Version) ([]byte, error) {
	path, err := f.cached(m, "mod")
	if err != nil {
		return nil, err
	}
	if content, err := os.ReadFile(path); err == nil {
		return content, nil
	}
	unlock, err := f.lock(ctx, m)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if content, err := os.ReadFile(path); err == nil { // another has fetched it meanwhile
		return content, nil
	}
	name, err := escapedFile(m, "mod")
	if err != nil {
		return nil, err
	}
	content, err := f.get(ctx, m.Path, name, modzip.MaxGoMod)
	if err != nil {
		return nil, err
	}
	hash, err := hashOf(content)
	if err == nil {
		err = f.checkSum(ctx, module.Version{Path: m.Path, Version: m.Version + "/go.mod"}, hash)
	}
	if err != nil {
		return nil, err
	}
	return content, write(path, content)
}

// hashOf is the checksum of a go.mod.
func hashOf(content []byte) (string, error) {
	return dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	})
}

// Zip opens the archive of a module.
func (f *Fetcher) Zip(ctx context.Context, m module.Version) (*zip.ReadCloser, error) {
	path, err := f.cached(m, "zip")
	if err != nil {
		return nil, err
	}
	switch err = checkCached(ctx, m, path); {
	case errors.Is(err, os.ErrNotExist):
		unlock, err := f.lock(ctx, m)
		if err != nil {
			return nil, err
		}
		defer unlock()
		if err = checkCached(ctx, m, path); errors.Is(err, os.ErrNotExist) { // nobody has fetched it meanwhile
			err = f.download(ctx, m, path)
		}
		if err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	return zip.OpenReader(path)
}

// checkCached compares an archive in the cache with the checksum beside it.
func checkCached(ctx context.Context, m module.Version, path string) error {
	known, err := os.ReadFile(strings.TrimSuffix(path, "zip") + "ziphash")
	if err != nil {
		return err
	}
	hash, err := checkZip(ctx, m, path)
	if err == nil && hash != strings.TrimSpace(string(known)) {
		err = fmt.Errorf("%v: its archive in the module cache was changed; remove %s", m, path)
	}
	return err
}

// lockWait is how often a lock that another holds is tried again.
const lockWait = 20 * time.Millisecond

// lock keeps others from fetching a module: of this process, of other ones, and
// go commands, which lock the same file.
func (f *Fetcher) lock(ctx context.Context, m module.Version) (unlock func(), err error) {
	path, err := f.cached(m, "lock")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if err != unix.EINTR && err != unix.EWOULDBLOCK {
			file.Close()
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(lockWait):
		}
	}
}

// checkZip checks the names in an archive and returns its checksum.
func checkZip(ctx context.Context, m module.Version, path string) (string, error) {
	checked, err := modzip.CheckZip(m, path)
	switch {
	case checked.SizeError != nil:
		return "", fmt.Errorf("%v: %w", m, checked.SizeError)
	case len(checked.Invalid) > 0:
		return "", fmt.Errorf("%v: of the names in its archive %d are not allowed: %w", m, len(checked.Invalid), checked.Invalid[0])
	case err != nil:
		return "", fmt.Errorf("%v: its archive cannot be read: %w", m, err)
	}
	hash, err := hashZip(ctx, path)
	if err != nil {
		err = fmt.Errorf("%v: its archive cannot be read: %w", m, err)
	}
	return hash, err
}

// hashZip is dirhash.HashZip with an interrupt.
func hashZip(ctx context.Context, path string) (string, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return "", err
	}
	defer z.Close()
	files := map[string]*zip.File{}
	for _, f := range z.File {
		files[f.Name] = f
	}
	return dirhash.DefaultHash(slices.Collect(maps.Keys(files)), func(name string) (io.ReadCloser, error) {
		r, err := files[name].Open()
		return untilDone{ctx, r}, err
	})
}

// untilDone reads until a context is cancelled.
type untilDone struct {
	ctx context.Context
	io.ReadCloser
}

func (r untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReadCloser.Read(p)
}

// download puts an archive into the cache once it has been checked.
func (f *Fetcher) download(ctx context.Context, m module.Version, path string) error {
	name, err := escapedFile(m, "zip")
	if err != nil {
		return err
	}
	body, err := f.open(ctx, m.Path, name)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	n, err := copyShown(ctx, temp, io.LimitReader(body, modzip.MaxZipFile+1), m)
	if err == nil && n > modzip.MaxZipFile {
		err = fmt.Errorf("%v: its archive is larger than %d bytes", m, int64(modzip.MaxZipFile))
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	hash, err := checkZip(ctx, m, temp.Name())
	if err == nil {
		err = f.checkSum(ctx, m, hash)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return write(strings.TrimSuffix(path, "zip")+"ziphash", []byte(hash))
}

// copyShown copies an archive and shows how far that is, in kilobytes.
func copyShown(ctx context.Context, to io.Writer, from io.Reader, m module.Version) (n int64, err error) {
	meter := display.Progress(ctx, fmt.Sprintf("Fetching %v, kB", m), 0)
	for {
		part, err := io.CopyN(to, from, 64_000)
		n += part
		meter.Set(int(n / 1000))
		if err == io.EOF {
			meter.Done()
			return n, nil
		}
		if err != nil {
			meter.Fail(err)
			return n, err
		}
	}
}

// cached is where the cache keeps a file of a module.
func (f *Fetcher) cached(m module.Version, ext string) (string, error) {
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return "", err
	}
	name, err := escapedFile(m, ext)
	return filepath.Join(f.cache, filepath.FromSlash(path), filepath.FromSlash(name)), err
}

func escapedFile(m module.Version, ext string) (string, error) {
	version, err := module.EscapeVersion(m.Version)
	return "@v/" + version + "." + ext, err
}

// write replaces a file as a whole.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(content)
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
