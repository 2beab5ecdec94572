package cpu

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// maxObject bounds the size of a library.
const maxObject = 256 << 20

// CacheDir is where a kind of files is kept, "cpu" for libraries, as the package
// comment says. It is made if need be, and nobody else can write there.
func CacheDir(kind string) (string, error) {
	dir := os.Getenv("FORGE_CACHE_DIR")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("there is no place for compiled programs, set FORGE_CACHE_DIR: %w", err)
		}
		dir = filepath.Join(user, "forge")
	}
	dir = filepath.Join(dir, kind)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	return dir, ours(dir, info)
}

// ours refuses what somebody else owns or may write to.
func ours(path string, info os.FileInfo) error {
	switch stat, ok := info.Sys().(*syscall.Stat_t); {
	case info.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("%s is a link", path)
	case ok && int(stat.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("other users may write to %s", path)
	}
	return nil
}

// sealObject appends the checksum of a library to its file. Loaders do not look
// behind the end that the file's headers give.
func sealObject(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the C compiler left no library: %w", err)
	}
	sum := sha256.Sum256(raw)
	return os.WriteFile(path, append(raw, sum[:]...), 0o600)
}

// checkObject verifies the owner and the checksum of a library.
func checkObject(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if err := ours(path, info); err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() < sha256.Size || info.Size() > maxObject {
		return errors.New("not a library of this cache")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	end := len(raw) - sha256.Size
	if sum := sha256.Sum256(raw[:end]); !bytes.Equal(sum[:], raw[end:]) {
		return errors.New("the checksum does not match")
	}
	return nil
}
