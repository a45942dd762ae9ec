package console

import (
	"errors"
	"fmt"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/dnsproof"
)

// printUnproved prints the DNS queries for each host with their answers, and the records that would prove the hosts.
func (c *Console) printUnproved(e *apply.UnprovedError) {
	hosts := make([]string, len(e.Hosts))
	for i, h := range e.Hosts {
		hosts[i] = h.Host
	}
	c.say("Error: %s not proved to belong to %s\n", areText(hosts), e.Lease.Owner)
	var records []string
	var rows [][]string
	for _, h := range e.Hosts {
		why, ok := errors.AsType[*dnsproof.Unproved](h.Err)
		if !ok {
			rows = append(rows, []string{h.Host, "-", "-", fmt.Sprint(h.Err)})
			continue
		}
		for _, x := range why.Asked {
			rows = append(rows, []string{h.Host, fmt.Sprintf("%s %s", x.Type, x.Name), x.Server, x.Answer})
		}
		if why.Note != "" {
			rows = append(rows, []string{h.Host, "-", "-", why.Note})
		}
		if len(why.Records) > 0 {
			records = append(records, "  "+strings.Join(why.Records, "\n  or  "))
		}
	}
	_ = c.table().Print([]string{"HOST", "ASKED FOR", "OF", "ANSWER"}, rows) // to stderr
	if len(records) > 0 {
		fmt.Fprintf(c.ErrOut, "\nThe tenant can prove it with these DNS records:\n%s\n", strings.Join(records, "\n"))
	}
	c.say("\nNothing was changed for lease %s.", e.Lease)
}
