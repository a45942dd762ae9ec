// Package inventory says whether a group of resources fits a cluster, where, and why not. It follows the inventory of
// Akash's provider (akash-network/provider: cluster/inventory.go and cluster/kube/operators/clients/inventory), node
// for node, but for two defects: a GPU wish is not narrowed by a node that had no room, and nothing stays nothing
// under a commit level. docs/cluster-service.md explains it. The package is pure: what is read of a cluster comes from
// package observed, what is read of files from package cases.
package inventory
