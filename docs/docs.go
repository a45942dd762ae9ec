// Package docs has the pages that the program shows offline, as help topics.
package docs

import _ "embed"

// The pages, in Markdown.
var (
	//go:embed commands.md
	Commands string
	//go:embed configuration.md
	Configuration string
)
