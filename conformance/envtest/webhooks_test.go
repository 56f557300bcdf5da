package envtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// gadgetDefaulter gives gadgets a color.
type gadgetDefaulter struct{}

func (gadgetDefaulter) Default(_ context.Context, gadget *Gadget) error {
	if gadget.Spec.Color == "" {
		gadget.Spec.Color = "blue"
	}
	return nil
}

// gadgetValidator rejects sizes below zero, shrinking, and the deletion of what is to be kept.
type gadgetValidator struct{}

func (gadgetValidator) ValidateCreate(_ context.Context, gadget *Gadget) (admission.Warnings, error) {
	return checkSize(gadget)
}

func (gadgetValidator) ValidateUpdate(_ context.Context, old, gadget *Gadget) (admission.Warnings, error) {
	if gadget.Spec.Size < old.Spec.Size {
		request := gadgetV1.WithResource("gadgets").GroupResource()
		return nil, apierrors.NewForbidden(request, gadget.Name, field.Forbidden(field.NewPath("spec", "size"), "may not shrink"))
	}
	return checkSize(gadget)
}

func (gadgetValidator) ValidateDelete(ctx context.Context, gadget *Gadget) (admission.Warnings, error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, err
	}
	if gadget.Annotations["keep"] != "" {
		return admission.Warnings{"asked by " + request.UserInfo.Username}, apierrors.NewBadRequest("it is to be kept")
	}
	return nil, nil
}

func checkSize(gadget *Gadget) (admission.Warnings, error) {
	if gadget.Spec.Size < 0 {
		errors := field.ErrorList{field.Invalid(field.NewPath("spec", "size"), gadget.Spec.Size, "must not be negative")}
		return nil, apierrors.NewInvalid(gadgetV1.WithKind("Gadget").GroupKind(), gadget.Name, errors)
	}
	if gadget.Spec.Size > 100 {
		return admission.Warnings{"this is large", "very large"}, nil
	}
	return nil, nil
}

// warnings collects the warnings of a client.
type warnings struct {
	lock sync.Mutex
	seen []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.seen = append(w.seen, text)
}

func (w *warnings) take() string {
	w.lock.Lock()
	defer w.lock.Unlock()
	defer func() { w.seen = nil }()
	return strings.Join(w.seen, "; ")
}

func gadgetRules() []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
		Rule:       admissionv1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"v1"}, Resources: []string{"gadgets"}},
	}}
}

func webhookOptions() envtest.WebhookInstallOptions {
	none, equivalent := admissionv1.SideEffectClassNone, admissionv1.Equivalent
	service := func(path string) admissionv1.WebhookClientConfig {
		// The environment replaces it by the address of the test.
		return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "system", Name: "webhooks", Path: &path}}
	}
	return envtest.WebhookInstallOptions{
		MutatingWebhooks: []*admissionv1.MutatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "defaulting"},
			Webhooks: []admissionv1.MutatingWebhook{{
				Name: "defaulting.example.com", ClientConfig: service("/mutate-example-com-v1-gadget"), Rules: gadgetRules(),
				SideEffects: &none, MatchPolicy: &equivalent, AdmissionReviewVersions: []string{"v1"},
			}},
		}},
		ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "validating"},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: "validating.example.com", ClientConfig: service("/validate-example-com-v1-gadget"), Rules: gadgetRules(),
				SideEffects: &none, MatchPolicy: &equivalent, AdmissionReviewVersions: []string{"v1"},
			}},
		}},
	}
}

// startGadgets starts a control plane, and a manager that serves the webhooks of gadgets. The returned client collects warnings.
func startGadgets(t *testing.T) (client.Client, *warnings) {
	t.Helper()
	scheme := gadgetScheme()
	env := &envtest.Environment{
		Scheme:                scheme,
		WebhookInstallOptions: webhookOptions(),
		CRDInstallOptions:     envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{gadgetDefinition()}},
	}
	config, err := env.Start()
	if err != nil {
		t.Fatalf("the environment does not start: %v", err)
	}
	t.Cleanup(func() { _ = env.Stop() })
	local := env.WebhookInstallOptions
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: local.LocalServingHost, Port: local.LocalServingPort, CertDir: local.LocalServingCertDir,
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	err = ctrl.NewWebhookManagedBy(mgr, &Gadget{}).WithDefaulter(gadgetDefaulter{}).WithValidator(gadgetValidator{}).Complete()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager has failed: %v", err)
		}
	})
	seen := &warnings{}
	config = rest.CopyConfig(config)
	config.WarningHandler = seen
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	until(t, func() error { return mgr.GetWebhookServer().StartedChecker()(nil) })
	return c, seen
}

// until repeats a check until it succeeds, for a minute at most.
func until(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestWebhooksOfControllerRuntimeAreCalled defaults, validates and converts gadgets with the webhook server of controller-runtime.
func TestWebhooksOfControllerRuntimeAreCalled(t *testing.T) {
	ctx := context.Background()
	c, seen := startGadgets(t)
	gadget := func(name string, size int) *Gadget {
		return &Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: GadgetSpec{Size: size}}
	}
	first := gadget("first", 7)
	// kube-apiserver takes a moment to see new webhooks.
	until(t, func() error {
		probe := gadget("probe", -1)
		if err := c.Create(ctx, probe, client.DryRunAll); err == nil || !apierrors.IsInvalid(err) {
			return fmt.Errorf("the webhooks are not called: %v", err)
		}
		return nil
	})
	if err := c.Create(ctx, first); err != nil {
		t.Fatal(err)
	}
	if first.Spec != (GadgetSpec{Size: 7, Color: "blue"}) {
		t.Errorf("it has no default: %+v", first.Spec)
	}

	err := c.Create(ctx, gadget("negative", -1))
	if !apierrors.IsInvalid(err) {
		t.Fatalf("a negative size: %v", err)
	}
	status := err.(apierrors.APIStatus)
	message := `admission webhook "validating.example.com" denied the request: Gadget.example.com "negative" is invalid: ` +
		`spec.size: Invalid value: -1: must not be negative`
	if got := status.Status(); got.Message != message || len(got.Details.Causes) != 1 || got.Details.Causes[0].Field != "spec.size" {
		t.Errorf("a negative size: %+v", got)
	}

	if err := c.Create(ctx, gadget("large", 101)); err != nil {
		t.Fatal(err)
	}
	if got := seen.take(); got != "this is large; very large" {
		t.Errorf("warnings: %q", got)
	}

	first.Spec.Size = 6
	err = c.Update(ctx, first)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "spec.size: Forbidden: may not shrink") {
		t.Errorf("shrinking: %v", err)
	}

	// The other version is converted for the webhooks, and back.
	wide := &WideGadget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "wide"}, Spec: WideGadgetSpec{Width: "12cm"}}
	if err := c.Create(ctx, wide); err != nil {
		t.Fatal(err)
	}
	if wide.Spec != (WideGadgetSpec{Width: "12cm", Color: "blue"}) {
		t.Errorf("it is not converted: %+v", wide.Spec)
	}
	var hub Gadget
	if err := c.Get(ctx, client.ObjectKeyFromObject(wide), &hub); err != nil {
		t.Fatal(err)
	}
	if hub.Spec != (GadgetSpec{Size: 12, Color: "blue"}) {
		t.Errorf("it is not converted: %+v", hub.Spec)
	}
	bad := &WideGadget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "bad"}, Spec: WideGadgetSpec{Width: "wide"}}
	if err := c.Create(ctx, bad); err == nil || !strings.Contains(err.Error(), `width "wide"`) {
		t.Errorf("a width that cannot be converted: %v", err)
	}

	hub.Annotations = map[string]string{"keep": "yes"}
	if err := c.Update(ctx, &hub); err != nil {
		t.Fatal(err)
	}
	seen.take()
	if err := c.Delete(ctx, wide); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "it is to be kept") {
		t.Errorf("a deletion: %v", err)
	}
	if got := seen.take(); !strings.HasPrefix(got, "asked by ") {
		t.Errorf("warnings: %q", got)
	}
	if err := c.Delete(ctx, first); err != nil {
		t.Fatal(err)
	}
}
