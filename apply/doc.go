// Package apply does with a cluster what each command is there for: it takes and leaves claims, writes
// objects by server-side apply, prunes, waits, mends, and tells what it does as events. What is to be done
// is decided in package state, what is to be written in package render; the connection is below, in cluster
// and ledger.
package apply
