# The image of a release: its binaries are those of the release's archives, byte for byte, and nothing else is in it.
#
#   make image VERSION=v1.2.3
#
# It is the reconciler in the cluster (manifests/reconciler), a KRM function (its default command), a job that runs any other command,
# and a plugin of Argo CD.
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
ARG VERSION
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ENV CGO_ENABLED=0 GOFLAGS= GOWORK=off
RUN GOOS="$TARGETOS" GOARCH="$TARGETARCH" go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X github.com/akash-net/kubectl-akash-net/plugin/version.Version=$VERSION" \
    -o /out/ ./cmd/kubectl-akash_net ./cmd/kubectl-akash_net-reconcile

FROM scratch
COPY --from=build /out/ /usr/local/bin/
COPY manifests/argocd/plugin.yaml /home/argocd/cmp-server/config/plugin.yaml
COPY LICENSE /
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/kubectl-akash_net"]
CMD ["render"]
