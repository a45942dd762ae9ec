// Package docs has the pages that the program shows offline, as help topics.
package docs

import _ "embed"

// Commands is a page, in Markdown.
//
//go:embed commands.md
var Commands string
