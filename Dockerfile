# Build the programs first, for they are all that the image holds:
#
#   make build && docker build -t asset-ledger .
#   docker run -u 65532 -v ledger:/data -p 127.0.0.1:8080:8080 asset-ledger /ledger-write -listen 0.0.0.0:8080 -auth-file /data/auth
#
# See docs/ops.md, "Containers".
FROM scratch
COPY bin/ledger-write bin/ledger-read bin/ledgerctl /
COPY --chown=65532:65532 --chmod=0700 docs/ops/empty /data
ENV LEDGER_DIR=/data/log
USER 65532:65532
VOLUME /data
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
CMD ["/ledger-write"]
