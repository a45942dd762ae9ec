// Package engine decides what a command does next: a pure function of what it wants and of what it has seen, and when. It
// sends nothing, waits for nothing and has no clock. Package apply/execute carries out the steps and folds the answers into
// the World.
package engine
