package library

import "unsafe"

func text(at *byte, most int) string {
	n := 0
	for n < most && *(*byte)(unsafe.Add(unsafe.Pointer(at), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(at, n))
}
