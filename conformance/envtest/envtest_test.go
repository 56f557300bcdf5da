// Package envtest uses kubewright as Go tests use kube-apiserver and etcd: through controller-runtime's envtest, which finds the programs in
// the folder that KUBEBUILDER_ASSETS names.
package envtest

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// start starts a control plane that ends with the test.
func start(t *testing.T) (*envtest.Environment, *rest.Config) {
	t.Helper()
	env := &envtest.Environment{}
	began := time.Now()
	config, err := env.Start()
	if err != nil {
		t.Fatalf("the environment does not start: %v", err)
	}
	t.Logf("started in %v", time.Since(began))
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("the environment does not stop: %v", err)
		}
	})
	return env, config
}

func clientFor(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestUsersHaveTheRightsOfTheirRoles adds a user with a client certificate, who may do nothing until a role is bound.
func TestUsersHaveTheRightsOfTheirRoles(t *testing.T) {
	ctx := context.Background()
	env, config := start(t)
	admin := clientFor(t, config)
	user, err := env.AddUser(envtest.User{Name: "alice", Groups: []string{"devs"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	alice := clientFor(t, user.Config())
	var maps corev1.ConfigMapList
	err = alice.List(ctx, &maps, client.InNamespace("default"))
	if !apierrors.IsForbidden(err) {
		t.Fatalf("alice may list without a role: %v", err)
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "devs-read"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "devs"}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := admin.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	// The binding is in force with the answer to its creation.
	if err := alice.List(ctx, &maps, client.InNamespace("default")); err != nil {
		t.Fatalf("alice may not list with a role: %v", err)
	}
}

// TestAManagerReconciles runs a manager with one controller, which labels ConfigMaps.
func TestAManagerReconciles(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, config := start(t)
	mgr, err := ctrl.NewManager(config, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	labelled := make(chan struct{}, 1)
	err = ctrl.NewControllerManagedBy(mgr).Named("labels").For(&corev1.ConfigMap{}).Complete(
		reconciler(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
			var found corev1.ConfigMap
			if err := mgr.GetClient().Get(ctx, request.NamespacedName, &found); err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			if found.Name != "mine" || found.Labels["seen"] == "yes" {
				return ctrl.Result{}, nil
			}
			patch := client.MergeFrom(found.DeepCopy())
			found.Labels = map[string]string{"seen": "yes"}
			if err := mgr.GetClient().Patch(ctx, &found, patch); err != nil {
				return ctrl.Result{}, err
			}
			labelled <- struct{}{}
			return ctrl.Result{}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine"}}
	if err := clientFor(t, config).Create(ctx, mine); err != nil {
		t.Fatal(err)
	}
	select {
	case <-labelled:
	case err := <-ended:
		t.Fatalf("the manager has ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the ConfigMap was not labelled")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatalf("the manager has failed: %v", err)
	}
}

// TestSeveralEnvironmentsRunAtOnce shows that each has objects of its own.
func TestSeveralEnvironmentsRunAtOnce(t *testing.T) {
	ctx := context.Background()
	_, first := start(t)
	_, second := start(t)
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine"}}
	if err := clientFor(t, first).Create(ctx, mine); err != nil {
		t.Fatal(err)
	}
	var found corev1.ConfigMap
	err := clientFor(t, second).Get(ctx, client.ObjectKeyFromObject(mine), &found)
	if !apierrors.IsNotFound(err) {
		t.Fatalf("the second environment has the object of the first: %v", err)
	}
}

type reconciler func(context.Context, ctrl.Request) (ctrl.Result, error)

func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return r(ctx, request)
}
