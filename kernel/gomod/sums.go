package gomod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb"
)

// The checksum database that the go command takes when GOSUMDB is not set, and its
// mirror for China, which the go command knows by name, too.
const (
	defaultSums    = "sum.golang.org"
	defaultSumsKey = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
	chinaSums      = "sum.golang.google.cn"
)

// maxSums bounds an answer of the database.
const maxSums = 1 << 20

// openSums makes the client of the database that GOSUMDB names.
func (f *Fetcher) openSums() error {
	db, err := parseSums(f.env("GOSUMDB"))
	if db == nil {
		return err
	}
	db.fetcher = f
	f.sums = sumdb.NewClient(db)
	patterns := f.env("GONOSUMDB")
	if patterns == "" {
		patterns = f.env("GOPRIVATE")
	}
	f.sums.SetGONOSUMDB(patterns)
	return nil
}

// parseSums reads GOSUMDB: a known name, or the key of a database, both of which an
// address may follow. The database is nil when it is off.
func parseSums(setting string) (*database, error) {
	fields := strings.Fields(setting)
	switch {
	case len(fields) == 0:
		fields = []string{defaultSums}
	case len(fields) == 1 && fields[0] == "off":
		return nil, nil
	case len(fields) == 1 && fields[0] == chinaSums:
		fields = []string{defaultSums, "https://" + chinaSums}
	}
	db := &database{key: fields[0]}
	if fields[0] == defaultSums {
		db.key = defaultSumsKey
	}
	db.name, _, _ = strings.Cut(db.key, "+")
	if db.name == db.key || len(fields) > 2 {
		return nil, fmt.Errorf("GOSUMDB=%q: it is off, %s, or the key of a database and its address", setting, defaultSums)
	}
	db.url = "https://" + db.name
	if len(fields) == 2 {
		db.url = strings.TrimSuffix(fields[1], "/")
	}
	return db, nil
}

// checkSum compares a checksum with the database.
func (f *Fetcher) checkSum(ctx context.Context, m module.Version, hash string) error {
	if f.sums == nil {
		return nil
	}
	lines, err := f.lookUp(ctx, m)
	if errors.Is(err, sumdb.ErrGONOSUMDB) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%v: its checksum cannot be verified: %w", m, err)
	}
	if want := m.Path + " " + m.Version + " " + hash; !slices.Contains(lines, want) {
		return fmt.Errorf("%v: what the proxy sent has another checksum than the checksum database has: %s", m, hash)
	}
	return nil
}

// lookUp asks the database. Its client knows of no interrupts and is left behind.
func (f *Fetcher) lookUp(ctx context.Context, m module.Version) ([]string, error) {
	type answer struct {
		lines []string
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		lines, err := f.sums.Lookup(m.Path, m.Version)
		done <- answer{lines, err}
	}()
	select {
	case a := <-done:
		return a.lines, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// database is the client's access to one checksum database, through a proxy that
// mirrors it or directly.
type database struct {
	fetcher        *Fetcher
	name, key, url string

	once sync.Once
	base string
}

var _ sumdb.ClientOps = (*database)(nil)

func (d *database) ReadRemote(path string) ([]byte, error) {
	d.once.Do(func() {
		d.base = d.url
		for _, p := range d.fetcher.proxies {
			if p.url == "direct" || p.url == "off" {
				return
			}
			mirror := p.url + "/sumdb/" + d.name
			if body, err := d.fetcher.openURL(context.Background(), mirror+"/supported"); err == nil {
				body.Close()
				d.base = mirror
				return
			}
		}
	})
	body, err := d.fetcher.openURL(context.Background(), d.base+path)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return readAll(body, "an answer of the checksum database", maxSums)
}

// config is where the latest known tree is kept.
func (d *database) config(file string) (string, error) {
	path, err := d.fetcher.gopath()
	return filepath.Join(path, "pkg", "sumdb", filepath.FromSlash(file)), err
}

func (d *database) ReadConfig(file string) ([]byte, error) {
	if file == "key" {
		return []byte(d.key), nil
	}
	path, err := d.config(file)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return []byte{}, nil
	}
	return content, err
}

var configs sync.Mutex

func (d *database) WriteConfig(file string, old, new []byte) error {
	configs.Lock()
	defer configs.Unlock()
	present, err := d.ReadConfig(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(present, old) {
		return sumdb.ErrWriteConflict
	}
	path, err := d.config(file)
	if err != nil {
		return err
	}
	return write(path, new)
}

func (d *database) cached(file string) string {
	return filepath.Join(d.fetcher.cache, "sumdb", filepath.FromSlash(file))
}

func (d *database) ReadCache(file string) ([]byte, error) { return os.ReadFile(d.cached(file)) }

func (d *database) WriteCache(file string, data []byte) { write(d.cached(file), data) }

func (d *database) Log(string) {}

// SecurityError's text reaches people as the error of the look-up.
func (d *database) SecurityError(string) {}
