package workloads

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// Message says why an object is left as it is.
type Message struct {
	Kind                 kinds.Kind
	Namespace, Name, Why string
}

// Left returns the messages about the Secrets for which the definition has no password.
func (w *Work) Left() (out []Message) {
	for _, l := range w.lacking {
		why := fmt.Sprintf("%s: the definition has no password for it, and there is none in the cluster: "+
			"pods of service %s cannot get their image from a private registry", l.At, l.Service)
		if l.There {
			why = fmt.Sprintf("%s: the definition has no password for it; the one that is there is of another registry or user", l.At)
		}
		out = append(out, Message{kinds.Secret, w.id.Namespace(), l.Secret, why})
	}
	return out
}

// Stages returns the objects that the lease wants, by the stages of kinds.Running.
func (w *Work) Stages() [][]render.Object {
	out := make([][]render.Object, len(kinds.Running))
	for i, stage := range kinds.Running {
		for _, o := range w.objects {
			if slices.Contains(stage, o.Kind) {
				out[i] = append(out[i], o)
			}
		}
	}
	return out
}

// Unwanted returns what the lease has applied and no longer wants, in the order in which it is deleted. If all is false it
// is only what was replaced: the Deployment of a service that is a StatefulSet now, or the reverse.
func (w *Work) Unwanted(all bool) []deployed.Object {
	return deployed.Unwanted(w.live.objects, w.id.Group(), w.wanted, w.keep, all)
}

// WantsDisowned reports whether EndAdoption has something to do: an object that Akash's provider manages is taken over.
func (w *Work) WantsDisowned() bool { return len(w.adopted()) > 0 }

// adopted returns the objects that the lease takes over from Akash's provider.
func (w *Work) adopted() (out []render.Object) {
	for _, o := range w.objects {
		if live := w.Find(o); w.opts.Adopt && live != nil && managed.Names(live, managed.Akash) {
			out = append(out, o)
		}
	}
	return out
}
