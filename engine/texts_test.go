package engine_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// told writes what a person is told, but for what the requests say.
func (s *story) told(c *command, e engine.Event) {
	if e.Action.Undone() || slices.Contains([]report.Action{report.Withheld, report.Accepted, report.Served}, e.Action) {
		thing := strings.TrimSpace(e.Kind + " " + e.Thing)
		if e.Of != (engine.Key{}) {
			thing = e.Of.String()
		}
		fmt.Fprintf(&s.out, "%s tells: %s is %s: %s\n", c.name, thing, e.Action, e.Message)
	}
}

// textOfDefinition is a kept definition as a trace shows it.
func (s *story) textOfDefinition(d *kept.Definition) string {
	if d == nil {
		return "there is none"
	}
	var words []string
	for _, service := range s.ledger.said[d.Hash].Services {
		for _, e := range service.Expose {
			for _, h := range e.Hosts {
				words = append(words, h.Name+e.Path)
			}
			if e.HTTP.ReadTimeout != 0 {
				words = append(words, "with a timeout")
			}
		}
		if service.Target != "" {
			words = append(words, "by "+service.Target)
		}
	}
	text := fmt.Sprintf("%s, kept by %s", cmp.Or(strings.Join(words, " "), "nothing"), d.Run)
	if d.Source != "" {
		text += " from " + d.Source
	}
	return text
}

// textOfObject is an object as a trace shows it.
func textOfObject(k engine.Key, live *unstructured.Unstructured) string {
	text := k.String()
	if id, ok := lease.IDFromLabels(live.GetLabels()); ok {
		text += " of " + id.Group().String()
	}
	for name, v := range live.GetAnnotations() {
		if strings.HasSuffix(name, "/proxy-read-timeout") && v == "30" {
			text += ", with a timeout"
		}
	}
	if targets := view.TargetsOf(view.RecordHost(live), live); len(targets) > 0 {
		text += " to " + strings.Join(targets, ", ")
	}
	if mark := live.GetAnnotations()[lease.AnnotationTaken]; mark != "" {
		text += ", touched by " + mark
	}
	if live.GetDeletionTimestamp() != nil {
		text += ", being deleted"
	}
	return text
}

// textOf is a claim as a trace shows it.
func textOf(c *state.Claim) string {
	var parts []string
	for _, p := range c.Parts {
		text := p.Path
		if c.Kind.HasPorts() {
			text = p.PortText()
		}
		text += " " + p.Lease.Group().String()
		if p.From != "" {
			text += ", from " + p.From
		}
		if p.Run != "" {
			text += ", mark of " + p.Run
		}
		if c.Kind == state.Wildcard && !p.Bound {
			text += ", pending"
		}
		if p.Expires != "" && c.Kind != state.Wildcard {
			text += ", until " + p.Expires[11:16]
		}
		parts = append(parts, text)
	}
	for _, p := range c.Waits {
		parts = append(parts, "note of "+p.Lease.Group().String())
	}
	return fmt.Sprintf("%s of %s: %s", c.Thing, c.Owner, strings.Join(parts, "; "))
}
