// Package textfile reads text that people wrote with an editor: programs, notebooks, JSON
// and prompts.
//
// Text is UTF-8. Editors of Windows put a byte order mark in front of it, which is left
// out; what they save as UTF-16 is refused with what to do. A file is read up to a limit,
// and only if it can be read to its end: neither a folder, nor a pipe that nobody writes
// to, for whom a reader would wait.
package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrUTF16 refuses text of two bytes to a character.
var ErrUTF16 = errors.New("it is text in UTF-16, which editors of Windows call Unicode: save it as UTF-8")

// ErrLarge refuses a file that is larger than what is read of it.
var ErrLarge = errors.New("the file is too large")

// mark is the byte order mark in UTF-8.
var mark = []byte("\xef\xbb\xbf")

// Decode is the text of a content: without a byte order mark, and [ErrUTF16] for text in
// that encoding.
func Decode(content []byte) ([]byte, error) {
	if len(content) >= 2 {
		switch a, b := content[0], content[1]; {
		case a == 0xff && b == 0xfe, a == 0xfe && b == 0xff: // its mark
			return nil, ErrUTF16
		case a == 0 && b != 0 && b < 0x80, b == 0 && a != 0 && a < 0x80: // without one
			return nil, ErrUTF16
		}
	}
	return bytes.TrimPrefix(content, mark), nil
}

// Read reads the text of a file of at most so many bytes. Its errors name the file.
func Read(path string, limit int64) ([]byte, error) {
	content, err := read(path, limit)
	if err == nil {
		content, err = Decode(content)
	}
	if named := (*fs.PathError)(nil); err != nil && !errors.As(err, &named) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return content, err
}

func read(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // of a pipe, too, at once
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder, not a file")
	case info.Size() > limit:
		return nil, fmt.Errorf("%w: it has %d bytes, and at most %d are read", ErrLarge, info.Size(), limit)
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1)) // a pipe has no size
	switch {
	case err != nil:
		return nil, err
	case int64(len(content)) > limit:
		return nil, fmt.Errorf("%w: it has more than the %d bytes that are read", ErrLarge, limit)
	case len(content) == 0 && info.Mode()&fs.ModeNamedPipe != 0:
		return nil, errors.New("it is a pipe that nobody writes to")
	}
	return content, nil
}
