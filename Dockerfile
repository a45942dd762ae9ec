# The image of a release: the programs of the release, byte for byte, and nothing else.
#
#   make image VERSION=v1.2.3
#
# It is the reconciler in the cluster (manifests/reconciler), a KRM function (its default command), a job that runs any other command,
# and a plugin of Argo CD. goreleaser and `make image` put the programs into a folder a platform.
FROM scratch
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/kubectl-akash_net $TARGETPLATFORM/akash-net-reconciler /usr/local/bin/
COPY manifests/argocd/plugin.yaml /home/argocd/cmp-server/config/plugin.yaml
COPY LICENSE THIRD_PARTY_LICENSES /
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/kubectl-akash_net"]
CMD ["render"]
