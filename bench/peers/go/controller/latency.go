package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kubewright.dev/bench/internal/measure"
)

// What the writer and the controller tell each other: the one that the controller is ready, the other that it has ended.
const (
	ready = "ready"
	end   = "end"
)

func latency(ctx context.Context, w work, sample *measure.Sample) {
	manager := w.manager(w.options())
	seen := map[string]int64{}
	var times []time.Duration
	var before float64
	ended := make(chan struct{})
	// One worker, as there is unless said otherwise: nothing here is touched twice at once.
	reconciler := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		if request.Name == end {
			close(ended)
			return reconcile.Result{}, nil
		}
		var object corev1.ConfigMap
		if err := manager.GetClient().Get(ctx, request.NamespacedName, &object); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		// Only what the writer has changed says when.
		if at, err := strconv.ParseInt(object.Data["at"], 10, 64); err == nil && seen[request.Name] != at {
			if len(times) == 0 {
				before = measure.CPU()
			}
			seen[request.Name] = at
			times = append(times, time.Since(time.UnixMicro(at)))
		}
		return reconcile.Result{}, nil
	})
	measure.Fail(ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(reconciler))
	start(ctx, manager)
	_, err := manager.GetCache().GetInformer(ctx, &corev1.ConfigMap{})
	measure.Fail(err)
	measure.Fail(manager.GetClient().Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: ready},
	}))
	<-ended
	cpu := measure.CPU() - before
	slices.Sort(times)
	if len(times) == 0 {
		return
	}
	of := func(percent int) float64 { return millis(times[(len(times)-1)*percent/100]) }
	sample.Figures["p50"] = of(50)
	sample.Figures["p99"] = of(99)
	sample.Figures["event_cpu_micros"] = cpu * 1e6 / float64(len(times))
	var digest measure.Digest
	for name, at := range seen {
		digest.Add(w.Namespace, name, "", strconv.FormatInt(at, 10))
	}
	sample.Digests["seen"] = digest.String()
}
