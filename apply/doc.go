// Package apply implements the commands: it takes and releases claims, writes objects by server-side apply, prunes,
// waits, repairs, and reports its progress as events. Package state decides what a command does, and package render
// what it writes; packages cluster and ledger talk to the API server.
package apply
