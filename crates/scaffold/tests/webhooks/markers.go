// Package webhooks has the markers that `webhooks.yaml` is made from:
// `controller-gen webhook paths=. output:stdout` of controller-tools v0.21.0.
package webhooks

// +kubebuilder:webhook:path=/mutate-crew-example-com-v1-captain,mutating=true,failurePolicy=fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create;update,versions=v1,name=mcaptain-v1.kb.io,admissionReviewVersions=v1

// +kubebuilder:webhook:path=/validate-crew-example-com-v1-captain,mutating=false,failurePolicy=fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create;update;delete,versions=v1,name=vcaptain-v1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

// +kubebuilder:webhook:path=/mutate-crew-example-com-v1-berth,mutating=true,failurePolicy=ignore,sideEffects=NoneOnDryRun,groups=crew.example.com,resources=berths;berths/status,verbs=create,versions=v1;v2,name=mberth-v1.kb.io,admissionReviewVersions=v1,matchPolicy=Exact,reinvocationPolicy=IfNeeded
