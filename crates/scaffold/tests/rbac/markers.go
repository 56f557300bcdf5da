// Package controllers asks for permissions in every form that markers have.
package controllers

// +kubebuilder:rbac:groups=crew.example.com,resources=captains,verbs=get;list;watch
// +kubebuilder:rbac:groups=crew.example.com,resources=captains,verbs=update;patch;get
// +kubebuilder:rbac:groups=crew.example.com,resources=captains/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=crew.example.com,resources=captains/finalizers,verbs=update
// +kubebuilder:rbac:groups=crew.example.com,resources=mates;ships,verbs=get;list;watch
// +kubebuilder:rbac:groups=core,resources=pods;services,verbs=create;delete;get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=watch;list;get;delete;create
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=token;another,verbs=get
// +kubebuilder:rbac:groups=apps;extensions,resources=deployments,verbs=get;list
// +kubebuilder:rbac:groups=batch,resources=deployments,verbs=list;get
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;*;list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:urls=/metrics,verbs=get
// +kubebuilder:rbac:urls=/healthz;/readyz,verbs=get
// +kubebuilder:rbac:groups="",namespace=vault,resources=secrets,verbs=get;list
// +kubebuilder:rbac:groups="",namespace=vault,resources=configmaps,verbs=list;get
// +kubebuilder:rbac:groups=apps,namespace=infra,roleName=infra-manager,resources=deployments,verbs=get
// +kubebuilder:rbac:groups=apps,roleName=reader,resources=deployments;statefulsets,verbs=get;list;watch
