# The command isthmus on Debian 12: docker build -t isthmus . && docker run --rm -v "$PWD:/work" isthmus check model.pt2 --target xnnpack
FROM debian:bookworm-slim AS build
COPY . /source
WORKDIR /source
RUN rm -rf build .deps && ./dev package

FROM debian:bookworm-slim
COPY --from=build /source/build/package/dist/*.deb /tmp/isthmus.deb
COPY tools/ci/check_models /usr/bin/isthmus-check-models
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/isthmus.deb && rm -rf /tmp/isthmus.deb /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["isthmus"]
