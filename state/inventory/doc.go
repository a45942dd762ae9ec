// Package inventory decides whether a group of resources fits a cluster, where, and why not. It follows the inventory
// of Akash's provider (akash-network/provider: cluster/inventory.go and cluster/kube/operators/clients/inventory) node
// by node, except for two defects: a node without room does not narrow a GPU request, and a request for nothing stays
// nothing under a commit level. docs/fit.md explains it. The package is pure: package observed reads a
// cluster for it, package cases reads files.
package inventory
