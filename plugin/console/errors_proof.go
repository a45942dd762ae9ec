package console

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/dnsproof"
)

// printUnproved prints the DNS queries for each host with their answers, and the records that would prove the hosts.
func (c *Console) printUnproved(e *apply.UnprovedError) {
	hosts := make([]string, len(e.Hosts))
	for i, h := range e.Hosts {
		hosts[i] = h.Host
	}
	fmt.Fprintf(c.ErrOut, "Error: %s not proved to belong to %s\n\n", areText(hosts), e.Lease.Owner)
	w := printers.GetNewTabWriter(c.ErrOut)
	fmt.Fprintf(w, "  HOST\tASKED FOR\tOF\tANSWER\n")
	var records []string
	for _, h := range e.Hosts {
		why, ok := errors.AsType[*dnsproof.Unproved](h.Err)
		if !ok {
			fmt.Fprintf(w, "  %s\t-\t-\t%v\n", h.Host, h.Err)
			continue
		}
		for _, x := range why.Asked {
			fmt.Fprintf(w, "  %s\t%s %s\t%s\t%s\n", h.Host, x.Type, x.Name, x.Server, x.Answer)
		}
		if why.Note != "" {
			fmt.Fprintf(w, "  %s\t-\t-\t%s\n", h.Host, why.Note)
		}
		if len(why.Records) > 0 {
			records = append(records, "  "+strings.Join(why.Records, "\n  or  "))
		}
	}
	_ = w.Flush() // to stderr
	if len(records) > 0 {
		fmt.Fprintf(c.ErrOut, "\nThe tenant can prove it with these DNS records:\n%s\n", strings.Join(records, "\n"))
	}
	fmt.Fprintf(c.ErrOut, "\nNothing was changed for lease %s.\n", e.Lease)
}
