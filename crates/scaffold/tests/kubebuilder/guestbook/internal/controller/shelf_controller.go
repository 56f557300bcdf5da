package controller

// +kubebuilder:rbac:groups=webapp.example.com,resources=shelves,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=webapp.example.com,resources=shelves/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=webapp.example.com,resources=shelves/finalizers,verbs=update
