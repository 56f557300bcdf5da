package main

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kubewright.dev/bench/internal/measure"
)

// A manager as the scaffold makes it, with leader election, metrics and health, when there is nothing to do.
func idle(ctx context.Context, w work, sample *measure.Sample) {
	options := w.options()
	options.Metrics.BindAddress = "127.0.0.1:0"
	options.HealthProbeBindAddress = "127.0.0.1:0"
	options.LeaderElection = true
	options.LeaderElectionID = "idle"
	options.LeaderElectionNamespace = w.Namespace
	manager := w.manager(options)
	var done atomic.Int64
	reconciler := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		done.Add(1)
		return reconcile.Result{}, nil
	})
	measure.Fail(ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(reconciler))
	start(ctx, manager)
	for done.Load() < w.Objects {
		time.Sleep(10 * time.Millisecond)
	}
	// What the start needed is given back.
	debug.FreeOSMemory()
	time.Sleep(time.Second)
	before, began := measure.CPU(), time.Now()
	time.Sleep(time.Duration(w.IdleMillis) * time.Millisecond)
	sample.Figures["idle_percent"] = 100 * (measure.CPU() - before) / time.Since(began).Seconds()
	sample.Figures["resident_megabytes"] = measure.Resident() / 1e6
}
