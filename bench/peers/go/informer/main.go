// Command informer is the peer of the informer cases: the caches of client-go and controller-runtime on the same
// replayed bytes.
//
//	informer URL PODS EVENTS json|protobuf|dynamic|controller-runtime
//
// It lists and watches (not WatchList: what is compared is the list), with one handler, checks nothing itself, and prints
// digests of what it has after the list and after the events.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kubewright.dev/bench/internal/measure"
)

// A cache that runs.
type running struct {
	// Everything that was listed has reached the handler.
	synced func() bool
	// Every object.
	each func(func(metav1.Object))
}

func main() {
	if len(os.Args) != 5 {
		measure.Fail(fmt.Errorf("usage: informer URL PODS EVENTS json|protobuf|dynamic|controller-runtime"))
	}
	url, mode := os.Args[1], os.Args[4]
	pods, err := strconv.Atoi(os.Args[2])
	measure.Fail(err)
	events, err := strconv.ParseInt(os.Args[3], 10, 64)
	measure.Fail(err)

	var updates atomic.Int64
	handler := toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { updates.Add(1) }}
	sample := measure.New()
	resident, before := measure.Resident(), measure.CPU()
	ctx := context.Background()
	var informer running
	switch mode {
	case "json":
		informer = shared(ctx, typed(url, "application/json"), handler)
	case "protobuf":
		informer = shared(ctx, typed(url, kruntime.ContentTypeProtobuf), handler)
	case "dynamic":
		informer = shared(ctx, untyped(url), handler)
	case "controller-runtime":
		informer = controllerRuntime(ctx, url, handler)
	default:
		measure.Fail(fmt.Errorf("no mode %q", mode))
	}
	for !informer.synced() {
		time.Sleep(time.Millisecond)
	}
	sample.Figures["sync_cpu_seconds"] = measure.CPU() - before
	sample.Figures["sync_peak_bytes"] = measure.Peak()
	sample.Digests["sync"] = digest(informer)
	debug.FreeOSMemory()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	sample.Figures["heap_per_pod"] = float64(memory.HeapAlloc) / float64(pods)
	sample.Figures["resident_per_pod"] = (measure.Resident() - resident) / float64(pods)

	if events > 0 {
		before = measure.CPU()
		// Now the events may come.
		answer, err := http.Get(url + "/go")
		measure.Fail(err)
		_, err = io.Copy(io.Discard, answer.Body)
		measure.Fail(err)
		measure.Fail(answer.Body.Close())
		for updates.Load() < events {
			time.Sleep(time.Millisecond)
		}
		sample.Figures["events_per_cpu_second"] = float64(events) / (measure.CPU() - before)
		sample.Digests["watch"] = digest(informer)
	}
	sample.Print()
}

func digest(informer running) string {
	var digest measure.Digest
	informer.each(func(o metav1.Object) {
		digest.Add(o.GetNamespace(), o.GetName(), string(o.GetUID()), o.GetResourceVersion())
	})
	return digest.String()
}

func shared(ctx context.Context, informer toolscache.SharedIndexInformer, handler toolscache.ResourceEventHandler) running {
	registration, err := informer.AddEventHandler(handler)
	measure.Fail(err)
	go informer.Run(ctx.Done())
	return running{
		synced: registration.HasSynced,
		each: func(visit func(metav1.Object)) {
			for _, item := range informer.GetStore().List() {
				object, err := meta.Accessor(item)
				measure.Fail(err)
				visit(object)
			}
		},
	}
}

func scheme() *kruntime.Scheme {
	scheme := kruntime.NewScheme()
	measure.Fail(corev1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	return scheme
}

func typed(host, contentType string) toolscache.SharedIndexInformer {
	client, err := rest.RESTClientFor(&rest.Config{
		Host:    host,
		APIPath: "/api",
		QPS:     -1,
		ContentConfig: rest.ContentConfig{
			AcceptContentTypes:   contentType,
			ContentType:          contentType,
			GroupVersion:         &corev1.SchemeGroupVersion,
			NegotiatedSerializer: serializer.NewCodecFactory(scheme()).WithoutConversion(),
		},
	})
	measure.Fail(err)
	source := toolscache.NewListWatchFromClient(client, "pods", "", fields.Everything())
	return toolscache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, toolscache.Indexers{})
}

func untyped(host string) toolscache.SharedIndexInformer {
	client, err := dynamic.NewForConfig(&rest.Config{Host: host, QPS: -1})
	measure.Fail(err)
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	return factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Informer()
}

func controllerRuntime(ctx context.Context, host string, handler toolscache.ResourceEventHandler) running {
	config := &rest.Config{Host: host, QPS: -1}
	http, err := rest.HTTPClientFor(config)
	measure.Fail(err)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	pods, err := cache.New(config, cache.Options{HTTPClient: http, Scheme: scheme(), Mapper: mapper})
	measure.Fail(err)
	go func() { measure.Fail(pods.Start(ctx)) }()
	informer, err := pods.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	measure.Fail(err)
	registration, err := informer.AddEventHandler(handler)
	measure.Fail(err)
	return running{
		synced: registration.HasSynced,
		each: func(visit func(metav1.Object)) {
			var list corev1.PodList
			measure.Fail(pods.List(ctx, &list, client.UnsafeDisableDeepCopy))
			for i := range list.Items {
				visit(&list.Items[i])
			}
		},
	}
}
