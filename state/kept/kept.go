// Package kept is the definition that a lease was last applied with, as the ledger keeps it: one object of kind
// Lease for each deployment group, beside the claims.
package kept

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

const (
	// Label is on every kept definition, with the owner of its lease; no claim has it.
	Label = lease.Domain + "/definition-of"
	// AnnotationText holds the definition: a LeaseDefinition as JSON, or that compressed by gzip, in base64.
	AnnotationText = lease.Domain + "/lease-definition"
	// AnnotationRun holds the nonce of the run that has written it.
	AnnotationRun = lease.Domain + "/run"
)

const (
	// plain is how long a definition may be that is kept as it is.
	plain = 4 << 10
	// stored is the longest text that is kept: an object's annotations have 256 KiB together.
	stored = 224 << 10
	// longest is the longest definition that is kept, before it is compressed.
	longest = 4 << 20
)

// prefix begins the names of kept definitions. No host begins so.
const prefix = "df--"

// Name is the name of the object that keeps the definition of a deployment group.
func Name(g lease.Group) string { return prefix + lease.Hash(g.String()) }

// IsName is true for the name of a kept definition.
func IsName(name string) bool { return strings.HasPrefix(name, prefix) }

// Definition is a definition as it is kept, or as it is to be.
type Definition struct {
	// Name is the name of the object.
	Name string
	// Hash is that of the definition, as the objects of the lease carry it; Run the nonce of the run that has
	// written it.
	Hash, Run string
	// Written is when it was last written.
	Written time.Time
	// UID and ResourceVersion are those of the object; empty for one that is yet to be written.
	UID             types.UID
	ResourceVersion string
	// Deleting is true for an object that is going, and that a finalizer may hold back.
	Deleting bool
	// text is the definition as it is stored.
	text string
}

// IsVersion is true for two readings of one object that nobody has written between them, and for two of none.
func (d *Definition) IsVersion(other *Definition) bool {
	if d == nil || other == nil {
		return d == other
	}
	return d.UID == other.UID && d.ResourceVersion == other.ResourceVersion
}

// TooLongError says that a definition is too long to be kept.
type TooLongError struct{ Size, Limit int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the definition has %d bytes where %d can be kept", e.Size, e.Limit)
}

// New is a definition as a run keeps it.
func New(def *lease.Definition, run string) (*Definition, error) {
	text, err := encode(def)
	if err != nil {
		return nil, err
	}
	return &Definition{Name: Name(def.Lease.Group()), Hash: def.Hash, Run: run, text: text}, nil
}

// encode is the text of a definition: canonical, because Check has sorted it.
func encode(def *lease.Definition) (string, error) {
	data, err := json.Marshal(input.Encode(def))
	switch {
	case err != nil:
		return "", err
	case len(data) <= plain:
		return string(data), nil
	case len(data) > longest:
		return "", &TooLongError{Size: len(data), Limit: longest}
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a level that there is
	if _, err = w.Write(data); err == nil {
		err = w.Close()
	}
	if err != nil {
		return "", err
	}
	text := base64.StdEncoding.EncodeToString(packed.Bytes())
	if len(text) > stored {
		return "", &TooLongError{Size: len(text), Limit: stored}
	}
	return text, nil
}

// Read understands an object of kind Lease by its metadata. ok is false for one that is no kept definition.
func Read(meta *metav1.ObjectMeta) (d *Definition, ok bool) {
	if !IsName(meta.Name) {
		return nil, false
	}
	d = &Definition{
		Name: meta.Name, Hash: meta.Annotations[lease.AnnotationDefinition], Run: meta.Annotations[AnnotationRun], Deleting: meta.DeletionTimestamp != nil,
		UID: meta.UID, ResourceVersion: meta.ResourceVersion, Written: meta.CreationTimestamp.Time, text: meta.Annotations[AnnotationText],
	}
	if at := managed.LastWritten(meta); at.After(d.Written) {
		d.Written = at
	}
	return d, true
}

// Decode reads the definition as strictly as one from a file.
func (d *Definition) Decode() (*lease.Definition, error) {
	data := []byte(d.text)
	if !strings.HasPrefix(d.text, "{") {
		var err error
		if data, err = unpack(d.text); err != nil {
			return nil, fmt.Errorf("%s: annotation %s: %w", d.at(), AnnotationText, err)
		}
	}
	def, problems := input.DefinitionObject(d.at(), data)
	switch {
	case len(problems.Errors()) > 0:
		return nil, problems.Errors()
	case !json.Valid(data): // YAML may have a second document, which nobody would read
		return nil, fmt.Errorf("%s: annotation %s is not one JSON object", d.at(), AnnotationText)
	case Name(def.Lease.Group()) != d.Name:
		return nil, fmt.Errorf("%s: it is of lease %s, whose definition has another name", d.at(), def.Lease)
	case def.Hash != d.Hash:
		return nil, fmt.Errorf("%s: annotation %s is not the hash of the definition", d.at(), lease.AnnotationDefinition)
	}
	return def, nil
}

// at is the place of what is wrong with the definition.
func (d *Definition) at() string { return "leases/" + d.Name }

// unpack reads a compressed definition, and no more of it than a definition may have.
func unpack(text string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("it is neither JSON nor base64")
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("it is not compressed by gzip: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(r, longest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("it cannot be unpacked: %w", err)
	case len(data) > longest:
		return nil, &TooLongError{Size: len(data), Limit: longest}
	}
	return data, nil
}

// Says is true where the definition that is kept says what the other says.
func (d *Definition) Says(def *lease.Definition) bool {
	if d == nil || d.Deleting || d.Hash != def.Hash {
		return false
	}
	if text, err := encode(def); err == nil && text == d.text {
		return true
	}
	_, err := d.Decode() // the same in other words, or spoiled
	return err == nil
}

// Same is true where two are stored alike, or neither is there.
func (d *Definition) Same(other *Definition) bool {
	if d == nil || other == nil {
		return d == other
	}
	return d.text == other.text && d.Hash == other.Hash && d.Run == other.Run
}

// Configuration is what a deployment group applies to keep its definition in the place of the one that is there, nil
// where there is none.
func (d *Definition) Configuration(namespace string, g lease.Group, there *Definition) *coordinationv1.LeaseApplyConfiguration {
	ac := coordinationv1.Lease(d.Name, namespace).
		WithLabels(map[string]string{Label: g.Owner}).
		WithAnnotations(map[string]string{lease.AnnotationDefinition: d.Hash, AnnotationText: d.text, AnnotationRun: d.Run}).
		WithSpec(coordinationv1.LeaseSpec().WithHolderIdentity(g.String()))
	if there != nil {
		ac.WithUID(there.UID).WithResourceVersion(there.ResourceVersion)
	}
	return ac
}
