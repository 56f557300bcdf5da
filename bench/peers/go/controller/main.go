// Command controller is the peer of the controller cases: managers of controller-runtime that do the same as ours.
//
//	controller '{"mode":"reconcile|latency|idle|leader|webhooks","kubeconfig":FILE,"namespace":NAME,…}'
//
// The argument is the one that our role takes; bench/src/roles/controller says what its fields mean. Logs are discarded,
// metrics are counted but, unless a mode says otherwise, not served, and the client has no rate limit.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"kubewright.dev/bench/internal/measure"
)

type work struct {
	Mode       string `json:"mode"`
	Kubeconfig string `json:"kubeconfig"`
	Namespace  string `json:"namespace"`
	Objects    int64  `json:"objects"`
	Workers    int    `json:"workers"`
	Noops      int64  `json:"noops"`
	Writes     int32  `json:"writes"`
	HandOvers  int    `json:"hand_overs"`
	IdleMillis int64  `json:"idle_millis"`
	// Of webhooks.
	Certificates string `json:"certificates"`
	Port         int    `json:"port"`
}

func main() {
	if len(os.Args) != 2 {
		measure.Fail(fmt.Errorf("usage: controller WORK"))
	}
	var w work
	measure.Fail(json.Unmarshal([]byte(os.Args[1]), &w))
	log.SetLogger(logr.Discard())
	sample := measure.New()
	ctx := context.Background()
	switch w.Mode {
	case "reconcile":
		reconciles(ctx, w, sample)
	case "latency":
		latency(ctx, w, sample)
	case "idle":
		idle(ctx, w, sample)
	case "leader":
		handOvers(ctx, w, sample)
	case "webhooks":
		webhooks(ctx, w)
	default:
		measure.Fail(fmt.Errorf("no mode %q", w.Mode))
	}
	sample.Print()
}

func (w work) config() *rest.Config {
	config, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig)
	measure.Fail(err)
	config.QPS = -1
	return config
}

// Options of a manager that caches one namespace and serves nothing.
func (w work) options() ctrl.Options {
	return ctrl.Options{
		Cache:                  cache.Options{DefaultNamespaces: map[string]cache.Config{w.Namespace: {}}},
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	}
}

func (w work) manager(options ctrl.Options) ctrl.Manager {
	manager, err := ctrl.NewManager(w.config(), options)
	measure.Fail(err)
	return manager
}

// Runs until the context ends. An error ends the process.
func start(ctx context.Context, manager ctrl.Manager) {
	go func() { measure.Fail(manager.Start(ctx)) }()
}

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
