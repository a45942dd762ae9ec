package console

import (
	"encoding/json"

	"github.com/akash-net/kubectl-akash-net/reconcile/events"
)

// jsonAck is the JSON form of an acknowledgement: the last event of the lease, and which line asked for it.
type jsonAck struct {
	jsonEvent
	Line  int    `json:"line"`
	Type  string `json:"type,omitempty"`
	Retry bool   `json:"retry,omitempty"`
}

// ackSchema is the version of jsonAck. It changes with every incompatible change.
const ackSchema = "net.akash.network/acks/v1"

// Acknowledge prints what has become of an event of an event bus, as a line of JSON.
func (e *Events) Acknowledge(a events.Ack) error {
	l := jsonAck{jsonEvent: e.jsonOf(a.Result), Line: a.Line, Type: string(a.Type), Retry: a.Retry}
	l.Schema = ackSchema
	return json.NewEncoder(e.c.Out).Encode(l)
}

// ForData returns the same console for a command that prints data on standard output: what people read goes to standard error.
func (c *Console) ForData() *Console {
	out := *c
	out.Text, out.Terminal = c.ErrOut, false
	return &out
}
