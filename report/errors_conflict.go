package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/plan"
)

// ConflictError reports that other managers own fields of an object that a run wants to write.
type ConflictError struct {
	Object   string
	Managers []string
	// Fields are the fields in conflict, with both values and the owners, as far as the object that was read shows them.
	Fields []plan.Field
	// Differs is true if the fields have other values than the run wants. Otherwise a list contains more items: one
	// manager writes a list as a whole.
	Differs bool
	// ByHand is true if only kubectl users have set the fields, on an object of the lease: apply --force-conflicts takes them back.
	ByHand bool
	Err    error
}

func (e *ConflictError) Error() string {
	how := ", with other values"
	if !e.Differs {
		how = ", with the wanted values and more beside them"
	}
	text := fmt.Sprintf("%s: fields are managed by %s%s:", e.Object, strings.Join(e.Managers, ", "), how)
	for _, f := range e.Fields {
		text += "\n  " + Conflict(f)
	}
	if len(e.Fields) == 0 {
		text += fmt.Sprintf(" %v", e.Err)
	}
	if e.ByHand {
		return text + "\nNothing is forced. To take these fields back: kubectl akash-net apply -f FILE --force-conflicts"
	}
	text += "\nNothing is forced. Let that manager drop the fields, and apply again"
	if e.delivered() {
		text += "; if it delivers the lease no more: kubectl akash-net apply -f FILE --adopt"
	}
	return text
}

// delivered reports whether all managers have delivered the object.
func (e *ConflictError) delivered() bool {
	return len(e.Fields) > 0 && !slices.ContainsFunc(e.Fields, func(f plan.Field) bool {
		return slices.ContainsFunc(f.Owners, func(o plan.Owner) bool { return slices.Contains(e.Managers, o.Manager) && !o.Delivers })
	})
}

func (e *ConflictError) Unwrap() error { return e.Err }

// Conflict says which value a field has, who has set it, and which one the lease wants.
func Conflict(f plan.Field) string {
	if f.After == nil {
		return Taken(f) + "; the lease does not want it"
	}
	return fmt.Sprintf("%s; the lease wants %s", Taken(f), value(f.After))
}

// Taken says which value a field has, and who has set it.
func Taken(f plan.Field) string {
	if f.Before == nil {
		return fmt.Sprintf(".%s is not set", f.Path)
	}
	var by []string
	for _, o := range f.Owners {
		text := o.Manager
		if !o.Since.IsZero() {
			text += o.Since.UTC().Format(" since 2006-01-02 15:04:05 MST")
		}
		by = append(by, text)
	}
	return fmt.Sprintf(".%s: %s, set by %s", f.Path, value(f.Before), strings.Join(by, ", "))
}

// value returns a value as JSON, and of a long one the beginning.
func value(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 160
	if short := []rune(string(text)); len(short) > most {
		return string(short[:most]) + "…"
	}
	return string(text)
}
