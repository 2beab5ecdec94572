#!/usr/bin/env bash
# Checks and measures everything that runs on NVIDIA GPUs, on a host without Go.
#
#   make gpu-bundle                      writes build/gpu, on any host with Go
#   bash build/gpu/gpu.sh OUT [PHASE…]   on the host with the GPUs; python3 has PyTorch there
#
# Each phase takes less than 9 minutes and leaves its results in OUT. One that has ended
# well is not done again, so that the script is called as often as needed: with a budget of
# seconds in GPU_BUDGET it begins no phase after that. The last lines are a short table.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: gpu.sh OUT [PHASE...]}
shift
mkdir -p "$out" && out=$(cd "$out" && pwd)
start=$SECONDS
cuda=forge/backend/cuda wgsl=forge/backend/wgsl engine=nebula/engine
budget=${GPU_BUDGET:-1000000}
python=$(command -v python3) || { echo "python3 is not there: the peers are left out"; python=; }

# Multicast over NVLink can put devices out of service that others share.
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
export FORGE_CACHE_DIR="$out/cache" TORCHINDUCTOR_CACHE_DIR="$out/inductor" TRITON_CACHE_DIR="$out/triton"
mkdir -p "$FORGE_CACHE_DIR"
gpus=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)

# tests PACKAGE PATTERN LIMIT: runs the tests of a package where its files are. That there
# are none of that name is a failure.
tests() {
  (cd "$here/tests/$1" && timeout -k 5 "$3" ./x.test -test.v -test.timeout "$(($3 - 5))s" -test.run "$2") 2>&1 | tee "$out/last"
  local status=${PIPESTATUS[0]}
  ! grep -q 'no tests to run' "$out/last" && return "$status"
}
# times PACKAGE PATTERN LIMIT: runs benchmarks.
times() { (cd "$here/tests/$1" && timeout -k 5 "$3" ./x.test -test.run '^$' -test.bench "$2" -test.timeout "$(($3 - 5))s"); }
# suite DTYPE: measures the models of the suite beside PyTorch, all tensors on the GPU.
suite() {
  [ -n "$python" ] || return 1
  timeout -k 5 520 "$here/forge" bench --suite neural --dtype "$1" --device cuda --variant optimised --repeats 25 \
    --peers torch-eager,torch-compile --peer-python "$python" --output "$out/suite-$1.json" --resume
}
# peer SHAPE MODE: decodes with PyTorch.
peer() { timeout -k 5 250 "$python" "$here/torch_decode.py" --shape "$1" --mode "$2" | tail -n 1 | tee "$out/torch-$1-$2.json" && [ -s "$out/torch-$1-$2.json" ]; }

environment() {
  nvidia-smi --query-gpu=index,name,driver_version,memory.total,memory.used,clocks.max.sm,clocks.max.memory,power.limit --format=csv
  nvidia-smi topo -m
  cat "$here/COMMIT"
  uname -a
  "$here/forge" nebula doctor || true
  "$here/forge" nebula preflight
  [ -z "$python" ] || "$python" -c 'import platform, torch, triton; print("python", platform.python_version(), "torch", torch.__version__, "cuda", torch.version.cuda, "cudnn", torch.backends.cudnn.version(), "nccl", torch.cuda.nccl.version(), "triton", triton.__version__)' || echo "python3 has no PyTorch and Triton"
}
libraries() { tests $cuda/driver . 60 && tests $cuda/nvrtc . 60 && tests $cuda/nccl 'One|Alone|IDs|Prepare|Arguments|Order' 60 && tests $cuda/cublaslt . 90; }
conformance() { tests $cuda 'Conformance|Contract|Faults|Suite|Resident|Cancel|Concurrent|Shared|Library' 520; }
kernels() { tests $cuda/gemm 'Kernels|Special' 200 && tests $cuda/attention . 200; }
candidates() { tests $cuda 'LibraryProducts|TestProducts|Convolutions|Begun|Attention|Decode|Profile|Triton' 500; }
tuning() { tests $cuda 'TestTune' 500; }
rates() { times $cuda/driver 'Copy/within|Graph|Launch' 60 && times $cuda/cublaslt . 60 && times $cuda/attention . 120 && times $cuda 'Bound' 120 && FORGE_GEMM_TIMES='square suite rows layers' FORGE_GEMM_BUDGET=120s tests $cuda/gemm Times 150; }
suite_f32() { suite f32; }
suite_f16() { suite f16; }
webgpu() { export FORGE_WEBGPU_MODULES=$here/dawn; tests $wgsl/webgpu . 60 && tests $wgsl Dawn 360 && tests $wgsl/shader Dawn 100; }
decode() { tests $engine 'GPU$|CUDA' 120 && FORGE_SHAPES=1B times $engine GPUDecode 180 && FORGE_SHAPES=8B times $engine GPUDecode 230; }
decode_1b() { peer llama-3.2-1b eager && peer llama-3.2-1b compile; }
decode_8b() { peer llama-3.1-8b eager && peer llama-3.1-8b compile; }
two_nccl() { tests $cuda/nccl 'Operations|Times|Kill|Missing' 180 && tests $cuda 'Exchange|RankSum' 120 && times $cuda RankSums 60; }
two_ranks() { tests $engine 'GPURanks|GPUProcesses' 120 && FORGE_SHAPES=8B times $engine GPURanks 300 && times $engine GPUPipeline 100; }
two_kill() { "$python" "$here/kill.py" "$here/forge"; }

phases="environment libraries conformance kernels candidates tuning rates suite_f32 suite_f16 decode decode_1b decode_8b"
# WebGPU needs Node, and Vulkan with the driver for the card.
command -v node > /dev/null && [ -d "$here/dawn" ] && phases="$phases webgpu"
[ "$gpus" -lt 2 ] || phases="$phases two_nccl two_ranks two_kill"
[ $# -eq 0 ] || phases=$*
for phase in $phases; do
  if [ -e "$out/$phase.done" ]; then continue; fi
  if [ $((SECONDS - start)) -gt "$budget" ]; then echo "$phase: not begun, the budget is spent"; continue; fi
  began=$SECONDS
  if $phase > "$out/$phase.log" 2>&1; then state=ok; touch "$out/$phase.done"; else state=failed; fi
  echo "$phase: $state after $((SECONDS - began)) s"
done
if [ -n "$python" ]; then "$python" "$here/table.py" "$out"; fi
