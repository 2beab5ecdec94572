package objects

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Dir returns the folder for a kind of files, "cpu" for libraries, and makes it.
// The package comment says where it is.
func Dir(kind string) (string, error) {
	if dir := os.Getenv("FORGE_CACHE_DIR"); dir != "" {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		return private(filepath.Join(dir, kind))
	}
	if user, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(user, "forge", kind)
		if err := os.MkdirAll(dir, 0o700); err == nil {
			return private(dir)
		}
	}
	own, err := private(filepath.Join(os.TempDir(), "forge-"+strconv.Itoa(os.Getuid())))
	if err != nil {
		return "", err
	}
	return private(filepath.Join(own, kind))
}

// private makes a folder and refuses one that is not the user's alone.
func private(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("there is no place for compiled programs, set FORGE_CACHE_DIR: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	return dir, ours(dir, info)
}

// ours refuses what somebody else owns or may write to.
func ours(path string, info fs.FileInfo) error {
	switch stat, ok := info.Sys().(*syscall.Stat_t); {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a link", path)
	case ok && int(stat.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user; set FORGE_CACHE_DIR to a folder of your own", path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("other users may write to %s; take that away, or set FORGE_CACHE_DIR to another folder", path)
	}
	return nil
}
