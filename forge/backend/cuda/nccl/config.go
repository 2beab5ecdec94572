package nccl

import (
	"fmt"
	"math"
	"os"
	"unsafe"

	"github.com/ebitengine/purego"
)

// config is ncclConfig_t as of release 2.17. Newer libraries take it for what it says
// it is, and have their defaults for what they know besides.
type config struct {
	size            uint64
	magic, version  uint32
	blocking        int32
	clusterSize     int32
	minCTAs         int32
	maxCTAs         int32
	netName         uintptr
	splitShare, pad int32
}

const (
	configMagic   = 0xcafebeef
	configVersion = 21700
	undefined     = math.MinInt32 // NCCL_CONFIG_UNDEF_INT: the library's default
)

// newConfig is that of a communicator whose calls do not block.
func newConfig() *config {
	return &config{
		size: uint64(unsafe.Sizeof(config{})), magic: configMagic, version: configVersion,
		clusterSize: undefined, minCTAs: undefined, maxCTAs: undefined, splitShare: undefined, pad: undefined,
	}
}

// defaults are variables that NCCL reads when it is loaded, for those who have not set
// them. Multicast over NVLink can put devices out of service that others share. The
// service for inquiries takes a fixed port, which two jobs on a host both want.
var defaults = map[string]string{"NCCL_NVLS_ENABLE": "0", "NCCL_RAS_ENABLE": "0"}

// prepare sets the variables where C sees them, which has an environment of its own.
func prepare() error {
	for name, value := range defaults {
		if _, set := os.LookupEnv(name); !set {
			if err := setenv(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// setenv sets a variable for this process and its children, in C and in Go.
func setenv(name, value string) error {
	at, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return fmt.Errorf("%s cannot be set for NCCL: %w", name, err)
	}
	n, v := append([]byte(name), 0), append([]byte(value), 0)
	const overwrite = 1
	if code, _, _ := purego.SyscallN(at, uintptr(unsafe.Pointer(&n[0])), uintptr(unsafe.Pointer(&v[0])), overwrite); int32(code) != 0 {
		return fmt.Errorf("%s cannot be set for NCCL", name)
	}
	return os.Setenv(name, value)
}

// DisableP2P makes devices exchange through memory of the host, not directly, which is
// for hosts where that does not work. It is called before [Open].
func DisableP2P() error { return setenv("NCCL_P2P_DISABLE", "1") }
