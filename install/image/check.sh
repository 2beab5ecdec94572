#!/usr/bin/env bash
# Builds the images of the Dockerfile without Docker and without pulling anything,
# and looks whether they work. It needs root, debootstrap, buildah, git and Go.
#
# A minimal Debian that debootstrap makes stands for the base images. The steps run
# by "buildah build" with chroot isolation, in which RUN has its own root and nothing
# else of its own: what is shown here is that the steps succeed, that the result has
# the right files and user, starts JupyterLab, passes its own health check and
# executes a notebook by the kernel. Pulling, cgroups and published ports are Docker's.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=${WORK:-build/image}
mkdir -p "$work"
work=$(realpath "$work")
# The driver is vfs where there is no overlay: a copy for each layer.
export STORAGE_DRIVER=${STORAGE_DRIVER:-overlay} BUILDAH_ISOLATION=chroot REGISTRY_AUTH_FILE=/dev/null
store=(--root "$work/store" --runroot "$work/run")
buildah() { command buildah "${store[@]}" "$@"; }
say() { printf '== %s\n' "$*" >&2; }

# base NAME FOLDER makes an image of a folder.
base() {
    local c
    c=$(buildah from scratch)
    buildah add -q "$c" "$2" / > /dev/null
    buildah config --env PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$c"
    buildah commit -q --rm "$c" "$1" > /dev/null
}

# debian SUITE PACKAGES makes a root folder and an image of it. The second one has a
# Python that is new enough.
debian() {
    if [ ! -e "$work/$1.done" ]; then
        say "a minimal Debian $1, for the base images"
        rm -rf "${work:?}/$1"
        debootstrap --variant=minbase --include="$2" "$1" "$work/$1" > "$work/debootstrap-$1.log"
        touch "$work/$1.done"
    fi
    buildah inspect "localhost/base/$1" > /dev/null 2>&1 || base "localhost/base/$1" "$work/$1"
}
debian bookworm ca-certificates,make,git
debian trixie ca-certificates,python3,python3-venv
if ! buildah inspect localhost/base/go > /dev/null 2>&1; then
    c=$(buildah from localhost/base/bookworm)
    buildah add -q "$c" "$(go env GOROOT)" /usr/local/go > /dev/null
    buildah commit -q --rm "$c" localhost/base/go > /dev/null
fi

# What this machine needs to reach packages, and has of modules and objects already.
home=~root # the images' root has the same
volumes=(-v "$(go env GOMODCACHE):$home/go/pkg/mod" -v "$(go env GOCACHE):$home/.cache/go-build")
for file in /etc/ssl/certs/ca-certificates.crt /etc/pip.conf; do
    [ ! -e "$file" ] || volumes+=(-v "$file:$file:ro")
done

build() { # build TARGET NAME
    say "target $1"
    buildah build --format docker --isolation chroot --pull-never --network host "${volumes[@]}" \
        --build-arg "VERSION=$(git describe --always --dirty)" \
        --build-arg GO_IMAGE=localhost/base/go --build-arg DEBIAN_IMAGE=localhost/base/bookworm --build-arg PYTHON_IMAGE=localhost/base/trixie \
        ${1:+--target "$1"} -t "$2" . > "$work/$2.log" 2>&1 || { tail -20 "$work/$2.log"; exit 1; }
}

buildah rm --all > /dev/null # what an earlier run left
build cli forge-cli
build "" forge-lab
buildah rmi --prune --force > /dev/null # the images of before

say "the cli image"
c=$(buildah from localhost/forge-cli)
[ "$(buildah inspect --format '{{.OCIv1.Config.User}}' "$c")" = 1000:1000 ]
[ "$(buildah inspect --format '{{index .OCIv1.Config.Entrypoint 0}}' "$c")" = forge ]
buildah run "$c" -- forge version
buildah run "$c" -- sh -c 'id -un; printf "def f(x: f32[4]):\n    return relu(x)\n" > f.fs && forge run f.fs --backend cpu'
buildah rm "$c" > /dev/null

say "the JupyterLab image"
c=$(buildah from localhost/forge-lab)
trap 'buildah rm "$c" > /dev/null 2>&1 || true' EXIT
[ "$(buildah inspect --format '{{.OCIv1.Config.User}}' "$c")" = 1000:1000 ]
mapfile -t health < <(buildah inspect "$c" | python3 -c 'import json, sys
test = json.load(sys.stdin)["Docker"]["config"]["Healthcheck"]["Test"]
assert test[0] == "CMD", test
print("\n".join(test[1:]))')
mapfile -t command < <(buildah inspect "$c" | python3 -c 'import json, sys
print("\n".join(json.load(sys.stdin)["OCIv1"]["config"]["Cmd"]))')

if buildah run "$c" -- "${health[@]}" 2> /dev/null; then echo "the health check passes though nothing runs"; exit 1; fi
command buildah "${store[@]}" run "$c" -- "${command[@]}" > "$work/lab.log" 2>&1 & # not the function: $! is buildah
lab=$!
stop() { kill "$lab" 2> /dev/null || true; wait "$lab" || true; } # buildah passes the signal on
trap 'stop; buildah rm "$c" > /dev/null 2>&1 || true' EXIT
for _ in $(seq 120); do
    if buildah run "$c" -- "${health[@]}" 2> /dev/null; then healthy=1; break; fi
    kill -0 "$lab" 2> /dev/null || break
    sleep 1
done
[ "${healthy:-}" = 1 ] || { cat "$work/lab.log"; echo "JupyterLab does not pass its health check"; exit 1; }
echo "JupyterLab runs and passes its health check"
# Through the running server, as a browser: the kernel is offered and answers.
buildah run "$c" -- python3 - < install/image/ask.py
echo "all well"
