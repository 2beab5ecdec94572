# JupyterLab with the Forge kernel and the notebooks, for anybody who has the token that it prints:
#     docker build -t forge . && docker run -p 8888:8888 forge
# The command alone, with a C compiler:
#     docker build --target cli -t forge:cli . && docker run forge:cli version
# VERSION is what "forge version" says. The other arguments are the images to start from: Debian 12 or later,
# with Go 1.26 and make; with nothing; with Python 3.12 or later.
ARG GO_IMAGE=golang:1.26-bookworm
ARG DEBIAN_IMAGE=debian:bookworm-slim
ARG PYTHON_IMAGE=python:3.12-slim-bookworm

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
RUN make build VERSION="$VERSION"

FROM ${DEBIAN_IMAGE} AS cli
# The compiler is for programs that run as C. Debian serves no version of it but its newest.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 forge
COPY --from=build /src/bin/forge /usr/local/bin/forge
USER 1000:1000
WORKDIR /home/forge
ENTRYPOINT ["forge"]
CMD ["--help"]

FROM ${PYTHON_IMAGE}
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 forge
# The versions that the tests use, in an environment of their own: Debian's Python takes no others.
COPY kernel/peers/requirements.txt /tmp/requirements.txt
RUN python3 -m venv /opt/jupyter \
    && grep -E '^(jupyterlab|nbclient|nbconvert)==' /tmp/requirements.txt > /tmp/lab.txt \
    && /opt/jupyter/bin/pip install --no-cache-dir -r /tmp/lab.txt -c /tmp/requirements.txt
ENV PATH=/opt/jupyter/bin:$PATH
COPY --from=build /src/bin/forge /usr/local/bin/forge
RUN forge install --prefix /opt/jupyter
USER 1000:1000
WORKDIR /home/forge
COPY --chown=forge:forge notebooks notebooks
EXPOSE 8888
# Jupyter answers here without a token; the kernel is examined where the image is built.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8888/api', timeout=4)"]
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888", "--no-browser", "--ServerApp.root_dir=/home/forge/notebooks"]
