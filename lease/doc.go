// Package lease is the vocabulary of the project: leases and deployment groups, the names, labels
// and hashes that Akash's provider gives them, and the definition of what a lease exposes. It is
// pure: no cluster, no files, no clock.
package lease
