# syntax=docker/dockerfile:1

# Builds with the development dependencies, which do not reach the image.
FROM node:20-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build

# Only what runs.
FROM node:20-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force

FROM node:20-bookworm-slim
# git reads the repositories; ca-certificates lets it and Node trust the hosts.
RUN apt-get update \
  && apt-get install -y --no-install-recommends git ca-certificates \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY views ./views
# Clones live here; mount a volume to keep them over restarts and set server.data_dir to it.
RUN mkdir -p /data && chown node:node /data
ENV NODE_ENV=production
USER node
EXPOSE 4141
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4141/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# SIGTERM reaches node itself: it finishes what runs before it ends.
ENTRYPOINT ["node", "dist/main.js"]
CMD ["-c", "/etc/svc/svc.yaml"]
