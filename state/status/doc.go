// Package status tells what a lease's services do and where they are reached, as the gateway of Akash's provider
// answers (provider: gateway/rest/router.go and cluster/kube/client.go), from the objects of the lease. It asks nothing
// of a cluster.
package status
