# JupyterLab with the Forge kernel: docker build -t forge . && docker run -p 8888:8888 forge
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make build

FROM python:3.12-slim-bookworm
# A C compiler serves the compiled CPU kernels of the cells.
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY kernel/peers/requirements.txt /tmp/requirements.txt
RUN grep -E '^(jupyterlab|jupyter_client|jupyter_server|jupyterlab_server|nbconvert|nbclient|nbformat)==' /tmp/requirements.txt > /tmp/lab.txt \
    && pip install --no-cache-dir -r /tmp/lab.txt -c /tmp/requirements.txt
RUN useradd --create-home forge
COPY --from=build /src/bin/forge /usr/local/bin/forge
RUN forge install --prefix /usr/local
USER forge
WORKDIR /home/forge
COPY --chown=forge notebooks notebooks
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "--ServerApp.root_dir=/home/forge/notebooks"]
