#!/bin/sh
# Makes sure that there is a Chromium for JupyterLab: the one on PATH, else the
# distribution's package when this may be installed. Without one the tests in
# the browser are skipped, with that reason.
for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing the distribution's chromium"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } >/dev/null 2>&1 && exit 0
    echo "chromium could not be installed: tests in the browser are skipped" >&2
    exit 0
fi
echo "no chromium on PATH and no right to install it: tests in the browser are skipped" >&2
