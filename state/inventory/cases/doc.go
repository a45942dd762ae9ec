// Package cases reads cases, which ask whether groups fit a cluster, as one JSON object per line, and answers them.
// docs/commands.md has the format.
package cases
