package admission

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// pemBlocks yields the PEM blocks of a text. What is between them is ignored.
func pemBlocks(text string, yield func(*pem.Block) error) error {
	for rest := []byte(text); len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil
		}
		if err := yield(block); err != nil {
			return err
		}
	}
	return nil
}

// certificatesOf returns the certificates of a text; there is at least one.
func certificatesOf(text string) (all []*x509.Certificate, err error) {
	err = pemBlocks(text, func(block *pem.Block) error {
		if block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
			return nil
		}
		certificates, err := x509.ParseCertificates(block.Bytes)
		all = append(all, certificates...)
		return err
	})
	if err == nil && len(all) == 0 {
		err = errors.New("data does not contain any valid RSA or ECDSA certificates")
	}
	return all, err
}

// checkSignatures returns an error for certificates that are signed with an algorithm that HAProxy refuses. It accepts
// any of a self-signed certificate.
func checkSignatures(certificates []*x509.Certificate) error {
	var errs []error
	for _, c := range certificates {
		weak := ""
		switch c.SignatureAlgorithm {
		case x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.DSAWithSHA1:
			weak = "SHA1"
		case x509.MD2WithRSA:
			weak = "MD2"
		case x509.MD5WithRSA:
			weak = "MD5"
		}
		if weak != "" && !isSelfSigned(c) {
			errs = append(errs, fmt.Errorf("router does not support CA-signed certs using %s", weak))
		}
	}
	return utilerrors.NewAggregate(errs)
}

// isSelfSigned reports whether a certificate with a weak signature is self-signed by OpenSSL's rule: subject, key and
// algorithm are those of its issuer.
func isSelfSigned(c *x509.Certificate) bool {
	signedBy := x509.RSA
	switch c.SignatureAlgorithm {
	case x509.ECDSAWithSHA1:
		signedBy = x509.ECDSA
	case x509.DSAWithSHA1:
		signedBy = x509.DSA
	}
	return bytes.Equal(c.RawIssuer, c.RawSubject) && c.PublicKeyAlgorithm == signedBy &&
		(c.AuthorityKeyId == nil || bytes.Equal(c.AuthorityKeyId, c.SubjectKeyId))
}

// checkChain verifies a certificate with the CAs of its route. An expired one is served: the client decides.
func checkChain(certificate *x509.Certificate, roots *x509.CertPool) error {
	_, err := certificate.Verify(x509.VerifyOptions{Roots: roots, Intermediates: roots})
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); err == nil || ok && invalid.Reason == x509.Expired {
		return nil
	}
	return fmt.Errorf("error verifying certificate: %w", err)
}

// cleaned returns the certificates and keys of a text as the router hands them to HAProxy: each parsed and written
// anew. It returns an error for a block that is none.
func cleaned(text string) (string, error) {
	var out strings.Builder
	err := pemBlocks(text, func(block *pem.Block) (err error) {
		switch block.Type {
		case "CERTIFICATE":
			_, err = x509.ParseCertificate(block.Bytes)
			block.Headers = nil
		case "PUBLIC KEY", "RSA PUBLIC KEY", "DSA PUBLIC KEY", "ECDSA PUBLIC KEY":
			block, err = publicKey(block)
		case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ECDSA PRIVATE KEY":
			block, err = privateKey(block)
		case "EC PARAMETERS": // they are dropped
			return nil
		default:
			err = fmt.Errorf("unrecognized PEM block %s", block.Type)
		}
		if err != nil {
			return err
		}
		return pem.Encode(&out, block)
	})
	return out.String(), err
}

func publicKey(block *pem.Block) (*pem.Block, error) {
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	text, err := x509.MarshalPKIXPublicKey(key)
	return &pem.Block{Type: "PUBLIC KEY", Bytes: text}, err
}

func privateKey(block *pem.Block) (*pem.Block, error) {
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	if err != nil {
		key, err = x509.ParseECPrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("block %s is not valid", block.Type)
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}, nil
	case *ecdsa.PrivateKey:
		text, err := x509.MarshalECPrivateKey(key)
		return &pem.Block{Type: "EC PRIVATE KEY", Bytes: text}, err
	}
	return nil, fmt.Errorf("block private key %T is not valid", key)
}

// split returns the public and the private blocks of a text that may have both.
func split(text string) (public, private string) {
	var certificates, keys strings.Builder
	_ = pemBlocks(text, func(block *pem.Block) error {
		switch block.Type {
		case "PUBLIC KEY", "CERTIFICATE":
			return pem.Encode(&certificates, block)
		case "EC PRIVATE KEY", "RSA PRIVATE KEY":
			return pem.Encode(&keys, block)
		}
		return nil
	})
	return certificates.String(), keys.String()
}

// checkOnly returns an error if a text has no PEM block, or one of another type.
func checkOnly(text, kind string) error {
	if text == "" {
		return errors.New("the PEM content cannot be null")
	}
	return pemBlocks(text, func(block *pem.Block) error {
		if !strings.Contains(block.Type, kind) {
			return fmt.Errorf("field contains invalid types %s, expecting only %s", block.Type, kind)
		}
		return nil
	})
}

// checkPair returns an error if a key is not that of the first certificate.
func checkPair(certificates, key string) error {
	_, err := tls.X509KeyPair([]byte(certificates), []byte(key))
	return err
}
