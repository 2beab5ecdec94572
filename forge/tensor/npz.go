package tensor

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Named is a tensor of an .npz archive.
type Named struct {
	Name   string
	Tensor *Tensor
}

// MaxArchive is the largest total size, in bytes, of the tensors that
// [ReadNPZ] reads from one archive.
const MaxArchive = 8 << 30

// maxExpansion is the largest factor by which deflate expands: a stored length
// of 258 bytes takes two bits.
const maxExpansion = 258 * 8 / 2

// WriteNPZ writes tensors as an uncompressed .npz archive.
func WriteNPZ(w io.Writer, tensors []Named) error {
	z := zip.NewWriter(w)
	for _, n := range tensors {
		f, err := z.CreateHeader(&zip.FileHeader{Name: n.Name + ".npy", Method: zip.Store})
		if err != nil {
			return fmt.Errorf("npz: %w", err)
		}
		if err := WriteNPY(f, n.Tensor); err != nil {
			return fmt.Errorf("npz: %s: %w", n.Name, err)
		}
	}
	return z.Close()
}

// ReadNPZ reads an .npz archive of size bytes, compressed or not, in the order
// of its entries. An entry that is not an .npy file is an error, as is a
// compressed entry that unpacks to another size than it declares.
func ReadNPZ(r io.ReaderAt, size int64) ([]Named, error) {
	z, err := zip.NewReader(r, size)
	if errors.Is(err, zip.ErrFormat) {
		err = errors.New("it is not an archive")
	}
	if err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	}
	var tensors []Named
	var total uint64
	seen := make(map[string]bool)
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, fmt.Errorf("npz: the entry %q is not an .npy file", f.Name)
		}
		if seen[name] {
			return nil, fmt.Errorf("npz: two entries are called %q", f.Name)
		}
		seen[name] = true
		if f.UncompressedSize64 > MaxArchive-total {
			return nil, fmt.Errorf("npz: the tensors have more than %d bytes together", int64(MaxArchive))
		}
		total += f.UncompressedSize64
		if f.UncompressedSize64/maxExpansion > f.CompressedSize64 {
			return nil, fmt.Errorf("npz: %q claims to unpack from %d to %d bytes, which deflate cannot do", f.Name, f.CompressedSize64, f.UncompressedSize64)
		}
		t, err := readEntry(f)
		if err != nil {
			return nil, fmt.Errorf("npz: %q: %w", f.Name, err)
		}
		tensors = append(tensors, Named{name, t})
	}
	return tensors, nil
}

func readEntry(f *zip.File) (*Tensor, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := ReadNPY(r, int64(f.UncompressedSize64))
	if err != nil {
		return nil, err
	}
	// Reading to the end makes the archive reader compare sizes and checksums.
	if n, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	} else if n > 0 {
		return nil, fmt.Errorf("%d bytes follow the elements", n)
	}
	return t, nil
}
