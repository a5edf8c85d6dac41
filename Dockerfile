# syntax=docker/dockerfile:1

# The image carries: Node 26 on Debian 13, git (it reads the repositories), CA certificates, tini (it is process 1: hands
# SIGTERM on and collects what git leaves behind), and the service with its pages, bundled with the packages that it uses.
# It runs as user 1000 and writes to server.data_dir and /tmp alone, so its root can be read-only.
ARG NODE_IMAGE=node:26.12.1-trixie-slim

# Bundles with the development dependencies, which do not reach the image. What it makes is the same for every platform.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts/build.ts scripts/bundled-packages.ts scripts/sbom.ts scripts/third-party-licenses.ts ./scripts/
COPY src ./src
RUN npm run build

FROM ${NODE_IMAGE}
# Debian's package lists move on: a pinned version of git would soon not be there, and would miss its security updates.
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install -y --no-install-recommends git ca-certificates tini \
  && rm -rf /var/lib/apt/lists/* \
  && rm -rf /usr/local/lib/node_modules /opt/yarn-* /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn*
WORKDIR /app
COPY --from=build /app/dist ./dist
COPY package.json openapi.yaml app.yml LICENSE ./
COPY views ./views
# For clones; set server.data_dir to it. They can be fetched again, so a volume that goes with the container will do.
RUN mkdir -p /data && chown 1000:1000 /data
# Last, since they change with every commit. A release sets them.
ARG VERSION=unreleased
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="svc" \
  org.opencontainers.image.description="Gates Argo CD deployments through GitHub pull requests and GitLab merge requests" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.source="${SOURCE}"
# glibc then returns more free memory to the system: all threads share two arenas; an arena with 128 KiB free at its end is trimmed
# (the default only until a program frees a larger block); a block of 32 KiB or more, such as a part of an answer, is returned at once.
ENV NODE_ENV=production \
  MALLOC_ARENA_MAX=2 \
  MALLOC_TRIM_THRESHOLD_=131072 \
  MALLOC_MMAP_THRESHOLD_=32768
# `node` in the base image, as a number: Kubernetes cannot tell by a name that it is not root.
USER 1000:1000
EXPOSE 4141
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s CMD ["node", "dist/healthcheck.js", "/etc/svc/svc.yaml"]
# In MiB. V8 itself would take 8 in a container of 1 GiB, and 32 on a large machine without a limit. The space for young objects
# is three times that.
ENTRYPOINT ["tini", "--", "node", "--max-semi-space-size=4", "dist/main.js"]
CMD ["-c", "/etc/svc/svc.yaml"]
