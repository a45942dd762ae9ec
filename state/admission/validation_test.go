package admission

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// issued is a certificate with its key, as PEM.
type issued struct {
	certificate, key string
	parsed           *x509.Certificate
	signer           *ecdsa.PrivateKey
}

// issue returns a certificate that by signs, or that signs itself.
func issue(t *testing.T, by *issued, end time.Time) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: serial.String()}, NotBefore: time.Unix(0, 0), NotAfter: end,
		BasicConstraintsValid: true, IsCA: by == nil, DNSNames: []string{"a.example.com"},
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.parsed, by.signer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issued{certificate: block(t, "CERTIFICATE", der, nil), key: keyBlock(t, "EC PRIVATE KEY", key), parsed: parsed, signer: key}
}

func block(t *testing.T, kind string, der []byte, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func keyBlock(t *testing.T, kind string, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if ec, ok := key.(*ecdsa.PrivateKey); ok && kind != "PRIVATE KEY" {
		der, err = x509.MarshalECPrivateKey(ec)
	}
	return block(t, kind, der, err)
}

// The router's extended validation refuses a Route whose TLS HAProxy could not serve, in these words; the route keeps its
// host and path. An expired certificate is served.
func TestExtendedValidation(t *testing.T) {
	far := time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)
	ca, other := issue(t, nil, far), issue(t, nil, far)
	leaf, expired := issue(t, ca, far), issue(t, ca, time.Unix(1, 0))
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	public, err := x509.MarshalPKIXPublicKey(leaf.signer.Public())
	publicKey := block(t, "PUBLIC KEY", public, err)

	const (
		at        = "spec.tls."
		pair      = at + `key: Invalid value: "redacted key data": tls: private key does not match public key`
		noKey     = at + `key: Invalid value: "": no key specified`
		none      = `data does not contain any valid RSA or ECDSA certificates`
		noCert    = at + `certificate: Invalid value: "redacted certificate data": `
		noPass    = `passthrough termination does not support certificates`
		unordered = `field contains invalid types`
	)
	type fields = map[string]any
	for name, tc := range map[string]struct {
		tls  fields
		want string // the message; with … at its end, its beginning
	}{
		"edge":            {fields{"termination": "edge"}, ""},
		"no termination":  {fields{}, ""},
		"capital":         {fields{"termination": "Edge"}, ""},
		"pair":            {fields{"termination": "edge", "certificate": leaf.certificate, "key": leaf.key}, ""},
		"PKCS 8":          {fields{"termination": "edge", "certificate": leaf.certificate, "key": keyBlock(t, "PRIVATE KEY", leaf.signer)}, ""},
		"key beside it":   {fields{"termination": "edge", "certificate": leaf.key + leaf.certificate}, ""},
		"text around":     {fields{"termination": "reencrypt", "certificate": "a\n" + leaf.certificate + "b\n", "key": leaf.key}, ""},
		"expired":         {fields{"termination": "edge", "certificate": expired.certificate, "key": expired.key, "caCertificate": ca.certificate}, ""},
		"with CA":         {fields{"termination": "edge", "certificate": leaf.certificate, "key": leaf.key, "caCertificate": ca.certificate}, ""},
		"destination CA":  {fields{"termination": "reencrypt", "destinationCACertificate": ca.certificate}, ""},
		"key alone":       {fields{"termination": "edge", "key": leaf.key}, ""},
		"redirects":       {fields{"termination": "passthrough", "insecureEdgeTerminationPolicy": "Redirect"}, ""},
		"another CA":      {fields{"termination": "edge", "certificate": leaf.certificate, "key": leaf.key, "caCertificate": other.certificate}, noCert + "error verifying certificate: x509: certificate signed by unknown authority…"},
		"another key":     {fields{"termination": "edge", "certificate": leaf.certificate, "key": other.key}, pair},
		"RSA key":         {fields{"termination": "edge", "certificate": leaf.certificate, "key": keyBlock(t, "PRIVATE KEY", rsaKey)}, at + `key: Invalid value: "redacted key data": tls: private key type does not match public key type`},
		"Ed25519 key":     {fields{"termination": "edge", "key": keyBlock(t, "PRIVATE KEY", edKey)}, at + `key: Invalid value: "redacted key data": block private key ed25519.PrivateKey is not valid`},
		"no key":          {fields{"termination": "edge", "certificate": leaf.certificate}, noKey},
		"garbage":         {fields{"termination": "edge", "certificate": "garbage"}, "[" + noCert + none + ", " + noKey + "]"},
		"garbage, key":    {fields{"termination": "edge", "certificate": "garbage", "key": leaf.key}, "[" + noCert + none + ", " + noCert + "the PEM content cannot be null, …"},
		"a key twice":     {fields{"termination": "edge", "certificate": leaf.key, "key": leaf.key}, "[" + noCert + none + ", …"},
		"broken":          {fields{"termination": "edge", "certificate": block(t, "CERTIFICATE", []byte("x"), nil), "key": leaf.key}, "[" + noCert + "x509: malformed certificate, …"},
		"public key":      {fields{"termination": "edge", "certificate": leaf.certificate + publicKey, "key": leaf.key}, noCert + unordered + " PUBLIC KEY, expecting only CERTIFICATE"},
		"certificate key": {fields{"termination": "edge", "certificate": leaf.certificate, "key": leaf.certificate}, "[" + at + `key: Invalid value: "redacted key data": ` + unordered + " CERTIFICATE, expecting only PRIVATE KEY, …"},
		"other block":     {fields{"termination": "edge", "key": block(t, "X509 CRL", []byte("x"), nil)}, at + `key: Invalid value: "redacted key data": unrecognized PEM block X509 CRL`},
		"broken key":      {fields{"termination": "edge", "key": block(t, "PRIVATE KEY", []byte("x"), nil)}, at + `key: Invalid value: "redacted key data": block PRIVATE KEY is not valid`},
		"bad CA":          {fields{"termination": "edge", "caCertificate": "x"}, at + `caCertificate: Invalid value: "redacted ca certificate data": failed to parse CA certificate: ` + none},
		"bad destination": {fields{"termination": "reencrypt", "destinationCACertificate": "x"}, at + `destinationCACertificate: Invalid value: "redacted destination ca certificate data": failed to parse destination CA certificate: ` + none},
		"edge, with that": {fields{"termination": "edge", "destinationCACertificate": ca.certificate}, at + `destinationCACertificate: Invalid value: "redacted destination ca certificate data": edge termination does not support destination certificates`},
		"bogus":           {fields{"termination": "bogus"}, at + `termination: Unsupported value: "bogus": supported values: "edge", "passthrough", "reencrypt"`},
		"none, with that": {fields{"destinationCACertificate": ca.certificate}, at + `termination: Unsupported value: "": supported values: "edge", "passthrough", "reencrypt"`},
		"passed through":  {fields{"termination": "passthrough", "certificate": leaf.certificate, "key": leaf.key}, "[" + noCert + noPass + ", " + at + `key: Invalid value: "redacted key data": ` + noPass + "]"},
		"allowed through": {fields{"termination": "passthrough", "insecureEdgeTerminationPolicy": "Allow"}, at + `insecureEdgeTerminationPolicy: Invalid value: "Allow": invalid value for InsecureEdgeTerminationPolicy option, acceptable values are None, Redirect, or empty`},
		"no policy":       {fields{"termination": "edge", "insecureEdgeTerminationPolicy": "allow"}, at + `insecureEdgeTerminationPolicy: Invalid value: "allow": invalid value for InsecureEdgeTerminationPolicy option, acceptable values are None, Allow, Redirect, or empty`},
	} {
		t.Run(name, func(t *testing.T) {
			var routes []Route
			for i, host := range []string{"a.example.com", "a.example.com"} {
				o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "route.openshift.io/v1", "kind": "Route",
					"spec": map[string]any{"host": host, "tls": tc.tls}}}
				o.SetNamespace("shop")
				o.SetName([]string{"first", "second"}[i])
				routes = append(routes, RoutesOf(o)...)
			}
			all := Decide(Rules{ownership: true}, nil, routes, nil)
			first, second := all[0].Verdict, all[1].Verdict
			beginning, more := strings.CutSuffix(tc.want, "…")
			if first.Message != tc.want && (!more || !strings.HasPrefix(first.Message, beginning)) {
				t.Errorf("message %q\nwant %q", first.Message, tc.want)
			}
			if first.Admitted != (tc.want == "") || !first.Admitted && first.Reason != "ExtendedValidationFailed" {
				t.Errorf("verdict %+v", first)
			}
			if second.Reason != "HostAlreadyClaimed" {
				t.Errorf("the younger route of its path: %+v", second)
			}
		})
	}
}

// HAProxy refuses certificates that a CA has signed with a weak algorithm, and takes those that sign themselves.
func TestWeakSignatures(t *testing.T) {
	root := &x509.Certificate{RawSubject: []byte("a"), RawIssuer: []byte("a"), PublicKeyAlgorithm: x509.RSA}
	leaf := &x509.Certificate{RawSubject: []byte("b"), RawIssuer: []byte("a"), PublicKeyAlgorithm: x509.RSA}
	for algorithm, want := range map[x509.SignatureAlgorithm]string{
		x509.SHA256WithRSA: "", x509.ECDSAWithSHA256: "",
		x509.SHA1WithRSA: "router does not support CA-signed certs using SHA1", x509.MD5WithRSA: "router does not support CA-signed certs using MD5",
		x509.MD2WithRSA: "router does not support CA-signed certs using MD2",
	} {
		root.SignatureAlgorithm, leaf.SignatureAlgorithm = algorithm, algorithm
		if err := checkSignatures([]*x509.Certificate{root}); err != nil {
			t.Errorf("%s, self-signed: %v", algorithm, err)
		}
		got := ""
		if err := checkSignatures([]*x509.Certificate{leaf, root, leaf}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", algorithm, got, want)
		}
	}
	key := *root
	key.SignatureAlgorithm, key.PublicKeyAlgorithm = x509.SHA1WithRSA, x509.ECDSA
	ids := *root
	ids.SignatureAlgorithm, ids.AuthorityKeyId, ids.SubjectKeyId = x509.SHA1WithRSA, []byte("1"), []byte("2")
	for _, c := range []*x509.Certificate{&key, &ids} {
		if checkSignatures([]*x509.Certificate{c}) == nil {
			t.Error("a certificate that another key has signed counts as self-signed")
		}
	}
}
