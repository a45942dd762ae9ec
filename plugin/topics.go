package plugin

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mitchellh/go-wordwrap"
	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/docs"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
)

// topics are what "help" explains beside the commands: sections of the pages of docs.
var topics = []struct{ name, short, page, heading string }{
	{"exit-codes", "What the exit codes mean", docs.Commands, "Exit codes"},
	{"names", "How hosts, addresses, leases and orders are named", docs.Commands, "Names"},
	{"states", "What the states of hosts, addresses and leases mean", docs.Commands, "States"},
	{"formats", "The output formats of the commands", docs.Commands, "Output"},
}

// newTopics returns the topics as commands that only have help.
func newTopics(c *session.Session) []*cobra.Command {
	var all []*cobra.Command
	for _, t := range topics {
		cmd := &cobra.Command{Use: t.name, Short: t.short, Hidden: true}
		cmd.SetHelpFunc(func(*cobra.Command, []string) { fmt.Fprint(c.Out, plain(section(t.page, t.heading))) })
		all = append(all, cmd)
	}
	return all
}

// section returns the text below a heading of a page of Markdown, up to the next heading of any kind.
func section(page, heading string) string {
	parts := anyHeading.Split(page, -1)
	for i, line := range anyHeading.FindAllString(page, -1) {
		if strings.TrimLeft(strings.TrimSpace(line), "# ") == heading {
			return strings.TrimLeft(parts[i+1], "\n")
		}
	}
	return ""
}

// helpWidth is the width of a topic in columns.
const helpWidth = 80

var (
	anyHeading = regexp.MustCompile(`(?m)^#+ .*$`)

	link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	rule = regexp.MustCompile(`^\|[ |:-]+\|$`)
)

// plain returns a text for a terminal of what Markdown says: each row of a table is its first cell, and below it the others.
func plain(markdown string) string {
	var out strings.Builder
	var paragraph []string
	code, header := false, true
	end := func() {
		if len(paragraph) > 0 {
			out.WriteString(indented(words(strings.Join(paragraph, " ")), ""))
		}
		paragraph = nil
	}
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\n")
		row, fence := strings.HasPrefix(line, "|"), strings.HasPrefix(line, "```")
		prose := line != "" && !code && !row && !fence
		if !prose || strings.HasPrefix(line, "- ") {
			end()
		}
		switch {
		case fence:
			code = !code
		case code:
			out.WriteString("    " + line + "\n")
		case row && header: // it names the columns
			header = false
		case row && rule.MatchString(line):
		case row:
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			out.WriteString("  " + words(cells[0]) + "\n" + indented(words(strings.Join(cells[1:], "; ")), "      "))
		case prose:
			paragraph = append(paragraph, line)
		default:
			header = true
			out.WriteString("\n")
		}
	}
	end()
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// words returns a text without the marks of Markdown.
func words(text string) string {
	return strings.TrimSpace(strings.NewReplacer("`", "", "**", "", " *", " ", "* ", " ", "\\|", "|").Replace(link.ReplaceAllString(text, "$1")))
}

func indented(text, indent string) string {
	wrapped := wordwrap.WrapString(text, uint(helpWidth-len(indent)))
	return indent + strings.ReplaceAll(wrapped, "\n", "\n"+indent) + "\n"
}
