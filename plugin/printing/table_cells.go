package printing

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// owner returns the address of an owner, shortened unless the table is wide.
func (t *tables) owner(wallet string) string {
	if t.wide {
		return terminal.Dash(wallet)
	}
	return terminal.Dash(thing.ShortWallet(wallet))
}

// sentence returns a text, in which the names of leases are short on a terminal.
func (t *tables) sentence(text string) string {
	if t.short {
		return thing.ShortenLeases(text)
	}
	return text
}

// number returns a positive number, or a dash for 0.
func number[N uint32 | uint64](n N) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatUint(uint64(n), 10)
}

// backend returns SERVICE:PORT, or only the service if the port is 0.
func backend(service string, port uint16) string {
	if service == "" || port == 0 {
		return terminal.Dash(service)
	}
	return fmt.Sprintf("%s:%d", service, port)
}

// routed returns the kind of the route that leads a host to its Service, "no" for one that does not, or a dash where there is no route.
func routed(target string, routed bool) string {
	if target != "" && !routed {
		return "no"
	}
	return terminal.Dash(target)
}

// answers returns READY/TOTAL, what is missing, or a dash where nothing leads to a Service.
func answers(e *view.Endpoints, leads bool) string {
	switch {
	case !leads:
		return "-"
	case e == nil:
		return "<unknown>"
	case e.Missing != "":
		return "no " + e.Missing
	}
	return fmt.Sprintf("%d/%d", e.Ready, e.Total)
}

// withSilence adds to the message of a row why nothing answers.
func withSilence(message, silence string) string {
	if message == "" || silence == "" {
		return message + silence
	}
	return message + "; " + silence
}

func portText(r view.IPRow) string {
	if r.Port == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%s", r.Port, strings.ToLower(string(r.Protocol)))
}

// some returns the first three items of a list and the number of the others, in the form that kubectl uses.
func some(list []string) string {
	const shown = 3
	if len(list) > shown {
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:shown], ","), len(list)-shown)
	}
	return terminal.Dash(strings.Join(list, ","))
}

func (t *tables) age(since metav1.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(t.now().Sub(since.Time))
}

func moment(since metav1.Time) string {
	if since.IsZero() {
		return "-"
	}
	return since.UTC().Format(time.RFC3339)
}

// bar draws the usage of a pool: a square for each address, or 20 squares for a larger pool. It always shows at least one used
// and one free square if there are any.
func bar(r view.PoolRow) string {
	const width = 20
	squares, used, end := r.Addresses, r.Used, ""
	if squares > width {
		used = int64(float64(r.Used) / float64(r.Addresses) * width)
		if r.Used > 0 {
			used = max(used, 1)
		}
		if r.Free > 0 {
			used = min(used, width-1)
		}
		squares, end = width, "…"
	}
	used = min(used, squares)
	return strings.Repeat("■", int(used)) + strings.Repeat("□", int(squares-used)) + end
}
