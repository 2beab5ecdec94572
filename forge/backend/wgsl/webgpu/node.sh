#!/bin/sh
# Makes a folder with Dawn for Node, exactly the version of package-lock.json, and the
# file .stamp in it. Node is the one on PATH, else the distribution's when it may be
# installed. Without it there is no folder, and tests that need it are skipped.
set -e
from=$(dirname "$0") to=$1
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing the distribution's nodejs and npm"
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nodejs npm; } >/dev/null 2>&1 || true
    fi
fi
if ! command -v npm >/dev/null; then
    echo "no node and npm on PATH, and none could be installed: shaders are not run by WebGPU" >&2
    exit 0
fi
rm -rf "$to"
mkdir -p "$to"
cp "$from/package.json" "$from/package-lock.json" "$to"
cd "$to"
npm ci --ignore-scripts --no-audit --no-fund --silent
touch .stamp
