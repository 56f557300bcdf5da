package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Defaults and presence.
// +kubebuilder:object:root=true
type Defaults struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Defaults and presence.
	Spec DefaultsSpec `json:"spec"`
}

type DefaultsSpec struct {
	// +kubebuilder:default=3
	// +optional
	Replicas int32 `json:"replicas"`
	// +kubebuilder:default="blue"
	// +optional
	Colour string `json:"colour,omitempty"`
	// +kubebuilder:default=false
	// +optional
	Paused bool `json:"paused"`
	// +kubebuilder:default={"a","b"}
	// +optional
	Names []string `json:"names,omitempty"`
	// +kubebuilder:default={"name": "x", "count": 2}
	// +optional
	Nested Nested `json:"nested,omitempty"`
	// +default=7
	// +optional
	Seven int64 `json:"seven,omitempty"`
	// +nullable
	// +optional
	Maybe *string `json:"maybe"`
	// +required
	Must *string `json:"must,omitempty"`
	// +kubebuilder:validation:Optional
	May string `json:"may"`
}

type Nested struct {
	Name string `json:"name"`
	// +kubebuilder:default=1
	// +optional
	Count int32 `json:"count,omitempty"`
}
