package eval

import (
	"fmt"
	"os"
	"reflect"
	"sync"

	"forgekernel/nebula/memory"
)

// maxBytes is the address space: Go itself refuses to make more.
const maxBytes = 1 << 47

func maxElements(t reflect.Type) int { return maxBytes / int(max(t.Size(), 1)) }

// room is the memory of the machine, or what a container leaves of it; maxBytes where
// that is not known.
var room = sync.OnceValue(func() uint64 {
	if most := memory.Of(os.DirFS("/")).Most(); most > 0 {
		return uint64(most)
	}
	return maxBytes
})

// checkRoom panics when n elements cannot be had. Go would end the process.
func checkRoom(n int, t reflect.Type) {
	const page = 1 << 20 // less is not worth a look
	if bytes := uint64(n) * uint64(t.Size()); bytes > page && bytes > room() {
		panic(plainError(fmt.Sprintf("out of memory: %d elements of type %s need %d MB, and the machine has %d MB", n, t, bytes>>20, room()>>20)))
	}
}
