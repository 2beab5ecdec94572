package preflight

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/nccl"
	"forgekernel/forge/tensor"
)

// agreed is what a process says when its results were right.
const agreed = "the values are right"

// Attend is what a process of [Check] does: it joins a group whose ID comes in
// hexadecimal, on the device of its rank, reduces known values and compares.
func Attend(ctx context.Context, in io.Reader, out io.Writer, rank, size int) error {
	raw, err := bufio.NewReader(io.LimitReader(in, 1<<10)).ReadString('\n')
	if err != nil {
		return fmt.Errorf("no ID of a group comes: %w", err)
	}
	var id nccl.ID
	if text := strings.TrimSpace(raw); len(text) != hex.EncodedLen(len(id)) {
		return fmt.Errorf("an ID has %d bytes", len(id))
	} else if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return err
	}
	cuda, err := driver.Open()
	if err != nil {
		return err
	}
	list, err := cuda.Devices()
	if err != nil {
		return err
	}
	if rank < 0 || rank >= min(size, len(list)) {
		return fmt.Errorf("there is no rank %d of %d on %d devices", rank, size, len(list))
	}
	lib, err := nccl.Open()
	if err != nil {
		return err
	}
	device, err := list[rank].Open()
	if err != nil {
		return err
	}
	comm, err := lib.Join(ctx, device, id, rank, size)
	if err != nil {
		return err
	}
	if err := device.Do(ctx, func() error { return compare(ctx, device, comm) }); err != nil {
		return err
	}
	if err := comm.Close(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, agreed)
	return err
}

// compare reduces messages of some sizes, which NCCL exchanges in different ways.
func compare(ctx context.Context, device *driver.Context, comm *nccl.Comm) error {
	s, err := device.NewStream()
	if err != nil {
		return err
	}
	for _, n := range []int{1, 4 << 10, 1 << 20, 4 << 20} {
		m, err := s.Alloc(int64(4 * n))
		if err != nil {
			return err
		}
		mine, want := pattern(n, comm.Rank), make([]byte, 4*n)
		for rank := range comm.Size {
			for i, b := range pattern(n, rank) {
				want[i] += b // no byte of the sum overflows
			}
		}
		got := make([]byte, 4*n)
		if err := errors.Join(
			s.Upload(m, 0, mine), comm.AllReduce(ctx, s, backend.Sum, tensor.I32, m.Address, m.Address, n), s.Download(got, m, 0), s.Synchronize(), s.Free(m),
		); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("an all-reduce of %d elements gives wrong values", n)
		}
	}
	return s.Close()
}

// pattern is n words of small bytes that depend on a rank.
func pattern(n, rank int) []byte {
	b := make([]byte, 4*n)
	for i := range b {
		b[i] = byte((i*7 + i>>9 + rank*3) % 11)
	}
	return b
}
