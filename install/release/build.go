package main

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"forgekernel/install"
	"forgekernel/install/magic"
)

//go:embed INSTALL.txt
var instructions []byte

// source is a commit, unpacked.
type source struct {
	dir     string
	version string // as forge version prints it
	time    time.Time
}

// checkout unpacks the commit that is checked out, without what was changed since.
func checkout() (*source, error) {
	version, err := command(".", nil, "git", "describe", "--always", "--abbrev=12")
	if err != nil {
		return nil, err
	}
	seconds, err := command(".", nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("time of the commit: %w", err)
	}
	files, err := command(".", nil, "git", "archive", "HEAD")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "forge-release-")
	if err != nil {
		return nil, err
	}
	if err := unpack(dir, strings.NewReader(files)); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("unpack the commit: %w", err)
	}
	return &source{dir, version, time.Unix(unix, 0).UTC()}, nil
}

// unpack writes the folders and files of a tar archive.
func unpack(dir string, r io.Reader) error {
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		switch h.Typeflag {
		case tar.TypeXGlobalHeader: // the name of the commit
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeReg:
			var data []byte
			if data, err = io.ReadAll(t); err == nil {
				err = os.WriteFile(path, data, h.FileInfo().Mode().Perm())
			}
		default:
			err = fmt.Errorf("%s is neither a file nor a folder", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

// build makes the files of an archive. What the kernel knows of packages differs from one
// platform to the next, so it is generated for each.
func (s *source) build(platform string) (map[string]file, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, errors.New("want GOOS/GOARCH")
	}
	here := []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH}
	there := append(here[:2:2], "GOOS="+goos, "GOARCH="+goarch)
	generator, binary := filepath.Join(s.dir, "gen"), filepath.Join(s.dir, "forge-"+goos+"-"+goarch)
	ldflags := "-s -w -buildid= -X main.version=" + s.version
	for _, step := range []struct {
		env  []string
		argv []string
	}{
		{here, []string{"go", "build", "-o", generator, "./kernel/gocell/hostpkg/gen"}},
		{there, []string{generator, "-C", "kernel/gocell/hostpkg"}},
		{there, []string{"go", "build", "-ldflags", ldflags, "-o", binary, "./kernel/cmd/forge"}},
	} {
		if _, err := command(s.dir, step.env, step.argv...); err != nil {
			return nil, err
		}
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	files := map[string]file{
		"forge":              {program, true},
		magic.Module + ".py": {data: []byte(magic.Source(""))},
		"INSTALL.txt":        {data: instructions},
	}
	if license, err := os.ReadFile(filepath.Join(s.dir, "LICENSE")); err == nil {
		files["LICENSE"] = file{data: license}
	} else if !os.IsNotExist(err) {
		return nil, err
	}
	spec, err := install.KernelSpec("forge").Files()
	if err != nil {
		return nil, err
	}
	for name, data := range spec {
		files["kernelspec/"+install.Name+"/"+name] = file{data: data}
	}
	return files, nil
}

// command runs a program and returns what it prints, without white space around it.
func command(dir string, env []string, argv ...string) (string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, errs.String())
	}
	return strings.TrimSpace(out.String()), nil
}
