// Package status computes the status of a lease as the gateway of Akash's provider answers it (provider:
// gateway/rest/router.go and cluster/kube/client.go), from the objects of the lease. It does not access a cluster.
package status
