// Package cases reads questions whether groups fit a cluster, a JSON object a line, and writes the answers.
// docs/commands.md has the format.
package cases
