# The image holds the three programs and nothing else. Docker is all you need to build it:
#
#   docker build -t asset-ledger .
#   docker run -u 65532 -v ledger:/data -p 127.0.0.1:8080:8080 asset-ledger /ledger-write -listen 0.0.0.0:8080 -auth-file /data/auth
#
# See docs/ops.md, "Containers".
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
ARG VERSION=unknown
ARG COMMIT=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X assetledger/server/version.Version=$VERSION -X assetledger/server/version.commit=$COMMIT" -o /out/ ./cmd/ledger-write ./cmd/ledger-read ./cmd/ledgerctl

FROM scratch
COPY --from=build /out/ledger-write /out/ledger-read /out/ledgerctl /
COPY --chown=65532:65532 --chmod=0700 docs/ops/empty /data
ENV LEDGER_DIR=/data/log
USER 65532:65532
VOLUME /data
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
CMD ["/ledger-write"]
