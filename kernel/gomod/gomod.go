// Package gomod fetches Go modules on machines without a Go toolchain: versions
// and files through the module proxy protocol, checked against the checksum
// database, kept in the module cache where a toolchain would keep them, and
// chosen by minimal version selection.
//
// It honours what the go command honours, from the environment and from the file
// that `go env -w` writes: GOPROXY, GOPRIVATE, GONOPROXY, GONOSUMDB, GOSUMDB,
// GOMODCACHE and GOPATH. What needs version control, "direct" in GOPROXY, is
// refused.
//
// Everything that comes from a proxy is untrusted: sizes are bounded, the paths
// in archives are checked, and nothing enters the cache before its checksum was
// compared.
package gomod

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb"
)

// requestTime bounds one request.
const requestTime = 2 * time.Minute

// Fetcher gets modules from a cache and from proxies.
type Fetcher struct {
	env     func(string) string
	proxies []proxy
	cache   string // …/cache/download
	http    *http.Client
	sums    *sumdb.Client // nil when GOSUMDB is off
}

// New returns a fetcher for an environment, such as os.Getenv.
func New(getenv func(string) string) (*Fetcher, error) {
	f := &Fetcher{env: withFile(getenv), http: &http.Client{Timeout: requestTime}}
	root, err := f.cacheRoot()
	if err != nil {
		return nil, err
	}
	f.cache = filepath.Join(root, "cache", "download")
	if f.proxies, err = parseProxies(f.env("GOPROXY")); err != nil {
		return nil, err
	}
	return f, f.openSums()
}

// withFile adds the settings of `go env -w`, which the environment overrides.
func withFile(getenv func(string) string) func(string) string {
	path := getenv("GOENV")
	if path == "off" {
		return getenv
	}
	if dir, err := os.UserConfigDir(); path == "" && err == nil {
		path = filepath.Join(dir, "go", "env")
	}
	settings := map[string]string{}
	if file, err := os.Open(path); err == nil {
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), "="); ok {
				settings[name] = value
			}
		}
	}
	return func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return settings[name]
	}
}

func (f *Fetcher) cacheRoot() (string, error) {
	if dir := f.env("GOMODCACHE"); dir != "" {
		return dir, nil
	}
	path, err := f.gopath()
	return filepath.Join(path, "pkg", "mod"), err
}

func (f *Fetcher) gopath() (string, error) {
	if list := filepath.SplitList(f.env("GOPATH")); len(list) > 0 && list[0] != "" {
		return list[0], nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for the module cache: set GOMODCACHE: %w", err)
	}
	return filepath.Join(home, "go"), nil
}

// isPrivate reports whether a module must not be asked for at a proxy.
func (f *Fetcher) isPrivate(path string) bool {
	patterns := f.env("GONOPROXY")
	if patterns == "" {
		patterns = f.env("GOPRIVATE")
	}
	return module.MatchPrefixPatterns(patterns, path)
}

// Query finds the version that "path@version" or "path@latest" names; without
// a version it is the latest.
func (f *Fetcher) Query(ctx context.Context, query string) (module.Version, error) {
	path, version, _ := strings.Cut(query, "@")
	if err := module.CheckPath(path); err != nil {
		return module.Version{}, err
	}
	m := module.Version{Path: path, Version: version}
	if version == "" || version == "latest" {
		info, err := f.latest(ctx, path)
		m.Version = info
		return m, err
	}
	if module.CanonicalVersion(version) != version {
		return m, fmt.Errorf("%s is not a full version such as v1.2.3; write @latest for the newest", version)
	}
	return m, module.Check(path, version)
}

// latest finds the newest version as the go command does: of the releases, else of the
// pre-releases, else what the proxy says. Versions that their authors have retracted do not
// count, nor do +incompatible ones where the newest compatible one has a go.mod.
func (f *Fetcher) latest(ctx context.Context, path string) (string, error) {
	list, err := f.get(ctx, path, "@v/list", maxList)
	if err != nil && !errors.Is(err, errNotFound) {
		return "", err
	}
	versions, err := f.compatible(ctx, path, byPreference(path, strings.Fields(string(list))))
	if err != nil {
		return "", err
	}
	if len(versions) == 0 {
		return f.latestInfo(ctx, path)
	}
	newest, err := f.parseMod(ctx, module.Version{Path: path, Version: versions[0]})
	if err != nil {
		return "", err
	}
	for _, v := range versions {
		if !isRetracted(newest, v) {
			return v, nil
		}
	}
	return "", fmt.Errorf("%s: all versions are retracted; write the one that you want after an @", path)
}

// byPreference sorts the versions of a module that can be used, the best first: releases
// before pre-releases, and the newest of both first.
func byPreference(path string, versions []string) []string {
	usable := slices.DeleteFunc(slices.Clone(versions), func(v string) bool { return !semver.IsValid(v) || module.Check(path, v) != nil })
	slices.SortFunc(usable, func(a, b string) int {
		if isRelease := semver.Prerelease(a) == ""; isRelease != (semver.Prerelease(b) == "") {
			if isRelease {
				return -1
			}
			return 1
		}
		return semver.Compare(b, a)
	})
	return usable
}

// compatible leaves out +incompatible versions, of a time before modules, where the newest
// of the others has a go.mod.
func (f *Fetcher) compatible(ctx context.Context, path string, versions []string) ([]string, error) {
	isOld := func(v string) bool { return strings.HasSuffix(v, "+incompatible") }
	i := slices.IndexFunc(versions, func(v string) bool { return !isOld(v) })
	if i < 0 || !slices.ContainsFunc(versions, isOld) {
		return versions, nil
	}
	content, err := f.Mod(ctx, module.Version{Path: path, Version: versions[i]})
	if err != nil {
		return nil, err
	}
	if string(content) == "module "+modfile.AutoQuote(path)+"\n" { // the proxy wrote it
		return versions, nil
	}
	return slices.DeleteFunc(versions, isOld), nil
}

// isRetracted reports whether the go.mod of the newest version takes a version back.
func isRetracted(newest *modfile.File, version string) bool {
	return slices.ContainsFunc(newest.Retract, func(r *modfile.Retract) bool {
		return semver.Compare(r.Low, version) <= 0 && semver.Compare(version, r.High) <= 0
	})
}
