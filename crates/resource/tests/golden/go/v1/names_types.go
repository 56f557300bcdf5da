package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// What is said of a whole kind.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=caps,singular=cap,shortName=cp;cn,categories=all;crew,scope=Cluster
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Colour",type=string,JSONPath=`.spec.colour`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`,description="How many",format=int32,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.spec.colour`
// +kubebuilder:deprecatedversion:warning="golden.example.com/v1 Names is old"
// +kubebuilder:metadata:annotations="example.com/note=kept",labels="example.com/part=golden"
// +kubebuilder:storageversion
type Names struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What is said of a whole kind.
	Spec NamesSpec `json:"spec"`
	// +optional
	Status NamesStatus `json:"status,omitempty"`
}

type NamesSpec struct {
	Replicas int32  `json:"replicas"`
	Colour   string `json:"colour"`
}

// What is there.
type NamesStatus struct {
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// +optional
	Selector string `json:"selector,omitempty"`
}
