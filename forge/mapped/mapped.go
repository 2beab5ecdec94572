// Package mapped reads files by mapping them into memory, so that weights are
// read from disk when they are used, and not copied.
//
// A file must not be shortened while it is mapped: the operating system ends a
// process that reads beyond the end.
package mapped

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// File is a file in memory.
type File struct {
	bytes []byte
	info  fs.FileInfo
}

// Open maps a regular file for reading. It does not wait for the writer of a
// named pipe: that is refused as anything else that is no regular file.
func Open(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Map(f)
}

// Map maps an open file, which may be closed afterwards.
func Map(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", f.Name())
	}
	m := &File{info: info}
	if size := info.Size(); size > 0 {
		if int64(int(size)) != size {
			return nil, fmt.Errorf("%s: %d bytes do not fit into memory", f.Name(), size)
		}
		if m.bytes, err = syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_PRIVATE); err != nil {
			return nil, fmt.Errorf("%s: map: %w", f.Name(), err)
		}
	}
	return m, nil
}

// Bytes are the contents. They must not be written to, nor read after Close.
func (m *File) Bytes() []byte { return m.bytes }

// Drop gives back the memory of a part of the contents. It is read from the file
// when it is used again, so that nobody has to stop using it.
func (m *File) Drop(part []byte) {
	from, first := address(part), address(m.bytes)
	if from < first || from+uintptr(len(part)) > first+uintptr(len(m.bytes)) {
		return // it is no part
	}
	page := uintptr(os.Getpagesize())
	low := (from - first + page - 1) &^ (page - 1) // the contents begin with a page
	high := (from - first + uintptr(len(part))) &^ (page - 1)
	if low < high {
		_ = unix.Madvise(m.bytes[low:high], unix.MADV_DONTNEED) // if it fails the memory stays, which is no harm
	}
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Info is what the file was when it was mapped.
func (m *File) Info() fs.FileInfo { return m.info }

// Close ends the mapping.
func (m *File) Close() error {
	b := m.bytes
	m.bytes = nil
	if len(b) == 0 {
		return nil
	}
	return syscall.Munmap(b)
}
