package driver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// header is cuda.h of a toolkit or of NVIDIA's Python package; empty when there is none.
func header() string {
	patterns := []string{os.Getenv("CUDA_HOME") + "/include/cuda.h", "/usr/local/cuda*/include/cuda.h", "/usr/local/cuda*/targets/*/include/cuda.h"}
	for _, dir := range filepath.SplitList(os.Getenv("NEBULA_CUDA_LIBS")) {
		patterns = append(patterns, filepath.Join(dir, "../../*/include/cuda.h"))
	}
	for _, p := range patterns {
		if found, _ := filepath.Glob(p); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}

// TestHeader compiles this package's constants, layouts and names against cuda.h,
// where that is present.
func TestHeader(t *testing.T) {
	path := header()
	cc, err := exec.LookPath("cc")
	if path == "" || err != nil {
		t.Skip("there is no C compiler, or no cuda.h in CUDA_HOME, below /usr/local/cuda* or beside NEBULA_CUDA_LIBS")
	}
	var p poolProps
	var l launchConfig
	var attribute launchAttribute
	var boxes tensorMap
	equal := []struct {
		c    string
		want uint64
	}{
		{"CUDA_SUCCESS", 0}, {"CUDA_ERROR_OUT_OF_MEMORY", uint64(OutOfMemory)}, {"CUDA_ERROR_NOT_READY", uint64(NotReady)},
		{"CU_DEVICE_ATTRIBUTE_CLOCK_RATE", uint64(attrClock)},
		{"CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT", uint64(attrMultiprocessors)}, {"CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE", uint64(attrL2)},
		{"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR", uint64(attrMajor)}, {"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR", uint64(attrMinor)},
		{"CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", uint64(attrSharedOptin)}, {"CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED", uint64(attrPools)},
		{"CU_MEMPOOL_ATTR_RELEASE_THRESHOLD", poolReleaseThreshold}, {"CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT", poolReserved}, {"CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH", poolReservedHigh},
		{"CU_MEMPOOL_ATTR_USED_MEM_CURRENT", poolUsed}, {"CU_MEMPOOL_ATTR_USED_MEM_HIGH", poolUsedHigh},
		{"CU_MEM_ALLOCATION_TYPE_PINNED", allocPinned}, {"CU_MEM_LOCATION_TYPE_DEVICE", locationDevice}, {"CU_MEMHOSTALLOC_PORTABLE", hostPortable},
		{"sizeof(CUipcMemHandle)", uint64(unsafe.Sizeof(Handle{}))}, {"CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS", lazyPeerAccess}, {"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", uint64(peerAccessAlready)},
		{"CU_STREAM_NON_BLOCKING", streamNonBlocking}, {"CU_EVENT_DISABLE_TIMING", eventDisableTiming}, {"CU_EVENT_RECORD_EXTERNAL", recordExternal}, {"CU_STREAM_CAPTURE_MODE_THREAD_LOCAL", captureThreadLocal},
		{"CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK", funcMaxThreads}, {"CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES", funcShared}, {"CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES", funcLocal},
		{"CU_FUNC_ATTRIBUTE_NUM_REGS", funcRegisters}, {"CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", funcMaxDynamic},
		{"CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION", attributeEarly}, {"sizeof(CUlaunchConfig)", uint64(unsafe.Sizeof(l))},
		{"offsetof(CUlaunchConfig, sharedMemBytes)", uint64(unsafe.Offsetof(l.shared))}, {"offsetof(CUlaunchConfig, hStream)", uint64(unsafe.Offsetof(l.stream))},
		{"offsetof(CUlaunchConfig, attrs)", uint64(unsafe.Offsetof(l.attributes))}, {"offsetof(CUlaunchConfig, numAttrs)", uint64(unsafe.Offsetof(l.count))},
		{"sizeof(CUlaunchAttribute)", uint64(unsafe.Sizeof(attribute))}, {"offsetof(CUlaunchAttribute, value)", uint64(unsafe.Offsetof(attribute.value))},
		{"sizeof(CUmemPoolProps)", uint64(unsafe.Sizeof(p))}, {"offsetof(CUmemPoolProps, handleTypes)", uint64(unsafe.Offsetof(p.handleTypes))},
		{"offsetof(CUmemPoolProps, location.type)", uint64(unsafe.Offsetof(p.locationType))}, {"offsetof(CUmemPoolProps, location.id)", uint64(unsafe.Offsetof(p.locationID))},
		{"offsetof(CUmemPoolProps, win32SecurityAttributes)", uint64(unsafe.Offsetof(p.security))}, {"offsetof(CUmemPoolProps, maxSize)", uint64(unsafe.Offsetof(p.maxSize))},
		{"sizeof(CUdevice)", uint64(unsafe.Sizeof(Device{}.handle))}, {"sizeof(CUcontext)", uint64(unsafe.Sizeof(Context{}.handle))},
		{"sizeof(CUdeviceptr)", uint64(unsafe.Sizeof(Memory{}.Address))}, {"sizeof(CUuuid)", 16}, {"sizeof(CUresult)", uint64(unsafe.Sizeof(OutOfMemory))},
		{"CU_TENSOR_MAP_DATA_TYPE_FLOAT16", uint64(ElementF16)}, {"CU_TENSOR_MAP_DATA_TYPE_BFLOAT16", uint64(ElementBF16)}, {"CU_TENSOR_MAP_INTERLEAVE_NONE", interleaveNone},
		{"CU_TENSOR_MAP_SWIZZLE_128B", swizzle128}, {"CU_TENSOR_MAP_L2_PROMOTION_L2_256B", promote256}, {"CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE", fillZeros},
		{"sizeof(CUtensorMap)", uint64(unsafe.Sizeof(boxes))}, {fmt.Sprintf("%d %% _Alignof(CUtensorMap)", tensorMapAlign), 0},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#include <stddef.h>\n#include %q\n", path)
	for _, e := range equal {
		fmt.Fprintf(&b, "_Static_assert(%s == %d, \"\");\n", e.c, e.want)
	}
	for i, name := range append([]string{"cuLaunchKernelEx", "cuTensorMapEncodeTiled"}, functions...) {
		fmt.Fprintf(&b, "void *f%d = (void *)%s;\n", i, name)
	}
	cmd := exec.CommandContext(t.Context(), cc, "-std=c11", "-fsyntax-only", "-x", "c", "-")
	cmd.Stdin = strings.NewReader(b.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s", path, err, out)
	}
	t.Log(path)
}
