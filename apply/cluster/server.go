package cluster

import (
	"context"
	"encoding/json"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
)

// Version returns the version that the API server says it has.
func (c *Cluster) Version(ctx context.Context) (string, error) {
	var info apimachineryversion.Info
	err := c.Read(ctx, func() error {
		body, err := c.discovery.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &info)
	})
	return info.GitVersion, c.Explain(err, "get", schema.GroupVersionResource{Resource: "version"})
}

// Served returns the resources of a group and version, by their plural names; none if the API server does not serve it. Every
// authenticated user may ask.
func (c *Cluster) Served(ctx context.Context, of schema.GroupVersion) ([]string, error) {
	var list metav1.APIResourceList
	path := "/apis/" + of.String()
	if of.Group == "" {
		path = "/api/" + of.Version
	}
	err := c.ReadOf(ctx, of.WithResource("resources"), func() error { return c.discovery.RESTClient().Get().AbsPath(path).Do(ctx).Into(&list) })
	if IsMissingKind(err) {
		return nil, nil
	}
	var names []string
	for _, r := range list.APIResources {
		names = append(names, r.Name)
	}
	return names, c.Explain(err, "get", of.WithResource("resources"))
}

// May reports whether the caller has a right.
func (c *Cluster) May(ctx context.Context, right *authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right}}
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, err
	}
	question := &unstructured.Unstructured{Object: body}
	question.SetGroupVersionKind(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"))
	reviews := authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")
	var answer *unstructured.Unstructured
	err = c.Read(ctx, func() (err error) { // it persists nothing
		answer, err = c.Dynamic.Resource(reviews).Create(ctx, question, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return false, c.Explain(err, "create", reviews)
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, err
}
