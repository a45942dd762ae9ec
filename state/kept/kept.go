// Package kept stores the definition that a lease was last applied with in the ledger: one Lease object per deployment
// group, next to the claims.
package kept

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

const (
	// Label is on every kept definition and on no claim. Its value is the owner of the lease.
	Label = lease.Domain + "/definition-of"
	// LabelSuspended is on the kept definition of a lease that the reconciler is to leave as it is. Its value is "true".
	LabelSuspended = lease.Domain + "/suspended"
	// AnnotationText holds the definition: a LeaseDefinition as JSON, or as gzip-compressed JSON in base64.
	AnnotationText = lease.Domain + "/lease-definition"
	// AnnotationRun holds the nonce of the run that wrote the definition.
	AnnotationRun = lease.Domain + "/run"
	// AnnotationSource holds the name of the source that "reconcile" has applied the definition from.
	AnnotationSource = lease.Domain + "/source"
	// AnnotationTarget holds the kind of the lease's routes, where a command has chosen it instead of the configuration.
	AnnotationTarget = lease.Domain + "/target"
)

// OfManifests is the name of the source that the Manifests of Akash's provider are.
const OfManifests = "akash-manifests"

const (
	// maxPlain is the size in bytes up to which a definition is stored uncompressed.
	maxPlain = 4 << 10
	// maxStored limits the size in bytes of the stored text: the annotations of an object have at most 256 KiB.
	maxStored = 224 << 10
	// maxSize limits the size in bytes of a definition before compression.
	maxSize = 4 << 20
)

// prefix starts the name of each kept definition. No host name starts with it.
const prefix = "df--"

// Name returns the name of the object that keeps the definition of a deployment group.
func Name(g lease.Group) string { return prefix + lease.Hash(g.String()) }

// IsName reports whether the name is the name of a kept definition.
func IsName(name string) bool { return strings.HasPrefix(name, prefix) }

// Definition is a kept definition, or one to be kept.
type Definition struct {
	// Name is the name of the object.
	Name string
	// Hash is the hash of the definition, as in the annotation of the lease's objects. Run is the nonce of the run that
	// wrote it.
	Hash, Run string
	// Source is the name of the source that reconcile has applied the definition from; empty for none.
	Source string
	// Target is the kind of the lease's routes that --target or migrate has chosen; empty for that of the configuration.
	Target string
	// Suspended is true if the reconciler is to leave the lease as it is. No apply changes it.
	Suspended bool
	// Written is when the object was last written.
	Written time.Time
	// UID and ResourceVersion are those of the object. They are empty for an object that does not exist yet.
	UID             types.UID
	ResourceVersion string
	// Deleting is true for an object with a deletion timestamp, which finalizers may still keep.
	Deleting bool
	// text is the stored form of the definition.
	text string
}

// IsVersion reports whether both are the same version of one object, or both nil.
func (d *Definition) IsVersion(other *Definition) bool {
	if d == nil || other == nil {
		return d == other
	}
	return d.UID == other.UID && d.ResourceVersion == other.ResourceVersion
}

// TooLongError is returned for a definition that is too long to keep. Sizes are in bytes.
type TooLongError struct{ Size, Limit int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the definition has %d bytes where %d can be kept", e.Size, e.Limit)
}

// New returns the definition in the form in which a run keeps it. It returns a TooLongError if it does not fit.
func New(def *lease.Definition, run string) (*Definition, error) {
	text, err := encode(def)
	if err != nil {
		return nil, err
	}
	return &Definition{Name: Name(def.Lease.Group()), Hash: def.Hash, Run: run, text: text}, nil
}

// encode returns the stored form of a definition. It is canonical, because lease.Check sorts a definition.
func encode(def *lease.Definition) (string, error) {
	data, err := document.Encode(input.Encode(def))
	switch {
	case err != nil:
		return "", err
	case len(data) <= maxPlain:
		return string(data), nil
	case len(data) > maxSize:
		return "", &TooLongError{Size: len(data), Limit: maxSize}
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // cannot fail: the level is valid
	if _, err = w.Write(data); err == nil {
		err = w.Close()
	}
	if err != nil {
		return "", err
	}
	text := base64.StdEncoding.EncodeToString(packed.Bytes())
	if len(text) > maxStored {
		return "", &TooLongError{Size: len(text), Limit: maxStored}
	}
	return text, nil
}

// Read reads a kept definition from the metadata of a Lease object. ok is false for any other object.
func Read(meta *metav1.ObjectMeta) (d *Definition, ok bool) {
	if !IsName(meta.Name) {
		return nil, false
	}
	d = &Definition{
		Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		Hash: meta.Annotations[lease.AnnotationDefinition], Run: meta.Annotations[AnnotationRun], Source: meta.Annotations[AnnotationSource],
		Target:    meta.Annotations[AnnotationTarget],
		Suspended: meta.Labels[LabelSuspended] == "true",
		text:      meta.Annotations[AnnotationText],
		Written:   meta.CreationTimestamp.Time, Deleting: meta.DeletionTimestamp != nil,
	}
	if at := managed.LastWritten(meta); at.After(d.Written) {
		d.Written = at
	}
	return d, true
}

// Decode parses the definition as strictly as one from a file, and checks that it belongs to the object. Its services have the kind of
// routes that was chosen, which its hash does not know.
func (d *Definition) Decode() (*lease.Definition, error) {
	data := []byte(d.text)
	if !strings.HasPrefix(d.text, "{") {
		var err error
		if data, err = unpack(d.text); err != nil {
			return nil, fmt.Errorf("%s: annotation %s: %w", d.place(), AnnotationText, err)
		}
	}
	def, problems := input.DefinitionObject(d.place(), data)
	switch {
	case len(problems.Errors()) > 0:
		return nil, problems.Errors()
	case !json.Valid(data): // YAML may have a second document, which the reader ignores
		return nil, fmt.Errorf("%s: annotation %s is not one JSON object", d.place(), AnnotationText)
	case Name(def.Lease.Group()) != d.Name:
		return nil, fmt.Errorf("%s: it is of lease %s, whose definition has another name", d.place(), def.Lease)
	case def.Hash != d.Hash:
		return nil, fmt.Errorf("%s: annotation %s is not the hash of the definition", d.place(), lease.AnnotationDefinition)
	}
	if d.Target != "" && !slices.Contains(config.Targets, d.Target) {
		return nil, fmt.Errorf("%s: annotation %s is none of %s", d.place(), AnnotationTarget, strings.Join(config.Targets, ", "))
	}
	for i := range def.Services {
		def.Services[i].Target = cmp.Or(def.Services[i].Target, d.Target)
	}
	return def, nil
}

// WithTarget returns the definition with another kind of routes, for a run to keep.
func (d *Definition) WithTarget(target, run string) *Definition {
	out := *d
	out.Target, out.Run = target, run
	return &out
}

// place returns where problems of the definition are reported.
func (d *Definition) place() string { return "leases/" + d.Name }

// unpack decompresses a definition and stops after maxSize bytes.
func unpack(text string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("it is neither JSON nor base64")
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("it is not compressed by gzip: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("it cannot be unpacked: %w", err)
	case len(data) > maxSize:
		return nil, &TooLongError{Size: len(data), Limit: maxSize}
	}
	return data, nil
}

// Says reports whether the kept definition is readable and equal to def.
func (d *Definition) Says(def *lease.Definition) bool {
	if d == nil || d.Deleting || d.Hash != def.Hash {
		return false
	}
	if text, err := encode(def); err == nil && text == d.text {
		return true
	}
	_, err := d.Decode() // equal with another encoding, unless the text is damaged
	return err == nil
}

// CheckSource returns an error if a text cannot be the name of a source: a DNS label (RFC 1123), as the names of most of Kubernetes'
// objects are. An empty text names none.
func CheckSource(name string) error {
	if problems := validation.IsDNS1123Label(name); name != "" && len(problems) > 0 {
		return fmt.Errorf("%q is no name: %s", lease.Clip(name), strings.Join(problems, "; "))
	}
	return nil
}

// From reports whether the definition has been applied from a source; an empty name is any, and none.
func (d *Definition) From(source string) bool { return source == "" || d != nil && d.Source == source }

// Same reports whether both are stored alike, or both nil.
func (d *Definition) Same(other *Definition) bool {
	if d == nil || other == nil {
		return d == other
	}
	return d.text == other.text && d.Hash == other.Hash && d.Run == other.Run && d.Source == other.Source && d.Target == other.Target
}

// IsEmpty reports whether there is no definition, or one of a lease that is to have nothing.
func (d *Definition) IsEmpty() bool {
	if d == nil {
		return true
	}
	def, err := d.Decode()
	return err == nil && def.Empty()
}

// Configuration returns what the deployment group applies to keep its definition. there is the object to replace, or
// nil.
func (d *Definition) Configuration(namespace string, g lease.Group, there *Definition) *coordinationv1.LeaseApplyConfiguration {
	ac := coordinationv1.Lease(d.Name, namespace).
		WithLabels(map[string]string{Label: g.Owner}).
		WithAnnotations(map[string]string{lease.AnnotationDefinition: d.Hash, AnnotationText: d.text, AnnotationRun: d.Run}).
		WithSpec(coordinationv1.LeaseSpec().WithHolderIdentity(g.String()))
	if d.Source != "" {
		ac.WithAnnotations(map[string]string{AnnotationSource: d.Source})
	}
	if d.Target != "" {
		ac.WithAnnotations(map[string]string{AnnotationTarget: d.Target})
	}
	if there != nil {
		ac.WithUID(there.UID).WithResourceVersion(there.ResourceVersion)
	}
	return ac
}
