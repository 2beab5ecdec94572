package forge

import (
	"fmt"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/auto"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/backend/tiered"
)

// DefaultBackend picks what runs a program, by the rules of package auto.
const DefaultBackend = "auto"

// backends lists what can run a program, the default first.
var backends = []backend.Backend{interp.New(), interp.Reference(), cpu.New(), portable.New(), tiered.New(), auto.New()}

// Backends names what can run a program.
func Backends() []string {
	names := make([]string, len(backends))
	for i, b := range backends {
		names[i] = b.Name()
	}
	return names
}

func backendNamed(name string) (backend.Backend, error) {
	for _, b := range backends {
		if b.Name() == name {
			return b, nil
		}
	}
	return nil, fmt.Errorf("there is no backend %q; there are %s", name, strings.Join(Backends(), ", "))
}

// Close ends compilations in the background and waits until they have cleared up.
// Programs go on in the form that they have. A process calls it before it ends.
func Close() { tiered.Process.Stop() }
