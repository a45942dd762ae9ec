// Package lease has the vocabulary of the project: leases and deployment groups, the names, labels and hashes that
// Akash's provider gives them, and the definition of what a lease exposes. It is pure: it uses no cluster, no files and
// no clock.
package lease
