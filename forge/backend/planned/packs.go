package planned

import (
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"forgekernel/forge/tensor"
)

// pack is the elements of a constant in an order of a backend's own.
type pack struct {
	once   sync.Once
	source *tensor.Tensor // whose storage is not another's as long as the pack is there
	bytes  []byte
	size   atomic.Int64 // of bytes, once they are there
}

// packKey is what programs have in common that share a pack.
type packKey struct {
	storage uintptr // where that of the source begins
	dtype   tensor.DType
	layout  string
}

// packs are those of the process that some program has. Programs hold them, and the
// map does not.
var packs = struct {
	sync.Mutex
	of map[packKey]weak.Pointer[pack]
}{of: make(map[packKey]weak.Pointer[pack])}

// shared is the pack of a tensor in a layout: that which another program has, or the
// one that build makes.
func shared(t *tensor.Tensor, layout string, build func() []byte) *pack {
	p := entry(t, packKey{Address(Bytes(t)), t.DType(), layout})
	p.once.Do(func() {
		p.bytes = build()
		p.size.Store(int64(len(p.bytes)))
	})
	return p
}

// entry finds or adds a pack, which may have no bytes yet.
func entry(t *tensor.Tensor, key packKey) *pack {
	packs.Lock()
	defer packs.Unlock()
	if p := packs.of[key].Value(); p != nil {
		return p
	}
	p := &pack{source: t}
	ref := weak.Make(p)
	packs.of[key] = ref
	runtime.AddCleanup(p, func(ref weak.Pointer[pack]) {
		packs.Lock()
		defer packs.Unlock()
		if packs.of[key] == ref { // and not a younger one
			delete(packs.of, key)
		}
	}, ref)
	return p
}

// Packed counts the packed forms of constants that programs of this process hold,
// and their bytes. Each is there once, however many programs hold it, and goes with
// the last of them when the garbage collector finds that.
func Packed() (forms int, bytes int64) {
	packs.Lock()
	defer packs.Unlock()
	for _, ref := range packs.of {
		if p := ref.Value(); p != nil {
			forms++
			bytes += p.size.Load()
		}
	}
	return forms, bytes
}
