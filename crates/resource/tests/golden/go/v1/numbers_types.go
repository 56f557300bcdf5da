// +groupName=golden.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Bounds of numbers.
// +kubebuilder:object:root=true
type Numbers struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Bounds of numbers.
	Spec NumbersSpec `json:"spec"`
}

type NumbersSpec struct {
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	Within int32 `json:"within"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:validation:ExclusiveMaximum=true
	Between int64 `json:"between"`
	// +kubebuilder:validation:MultipleOf=5
	// +optional
	Stepped *int32 `json:"stepped,omitempty"`
	// +kubebuilder:validation:Minimum=-1.5
	// +optional
	Ratio *float64 `json:"ratio,omitempty"`
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	// +optional
	Ports []int32 `json:"ports,omitempty"`
	// +kubebuilder:validation:Enum=1;2;4
	// +optional
	Width int32 `json:"width,omitempty"`
	// +optional
	Percent Percent `json:"percent,omitempty"`
}

// A part of a hundred.
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=100
type Percent int32
