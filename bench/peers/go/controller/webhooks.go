package main

import (
	"context"
	"errors"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kubewright.dev/bench/internal/measure"
)

// A manager that serves a defaulter and a validator of pods until the standard input is closed.
func webhooks(ctx context.Context, w work) {
	options := w.options()
	options.WebhookServer = webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: w.Port, CertDir: w.Certificates})
	manager := w.manager(options)
	builder := ctrl.NewWebhookManagedBy(manager, &corev1.Pod{})
	measure.Fail(builder.WithDefaulter(podDefaulter{}).WithValidator(podValidator{}).Complete())
	start(ctx, manager)
	_, err := io.Copy(io.Discard, os.Stdin)
	measure.Fail(err)
}

type podDefaulter struct{}

func (podDefaulter) Default(_ context.Context, pod *corev1.Pod) error {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels["team"] = "web"
	return nil
}

type podValidator struct{}

func (podValidator) ValidateCreate(_ context.Context, pod *corev1.Pod) (admission.Warnings, error) {
	return nil, validate(pod)
}

func (podValidator) ValidateUpdate(_ context.Context, _, pod *corev1.Pod) (admission.Warnings, error) {
	return nil, validate(pod)
}

func (podValidator) ValidateDelete(context.Context, *corev1.Pod) (admission.Warnings, error) {
	return nil, nil
}

func validate(pod *corev1.Pod) error {
	for _, container := range pod.Spec.Containers {
		if container.Image == "" {
			return errors.New("a container needs an image")
		}
	}
	return nil
}
