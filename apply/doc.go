// Package apply is all contact with the cluster: it lists what is there, takes and leaves claims,
// writes objects by server-side apply, prunes, waits, and tells what it does as events. What is
// to be done is decided in package state, what is to be written in package render.
package apply
