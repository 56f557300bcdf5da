package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Objects within objects.
// +kubebuilder:object:root=true
type Objects struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Objects within objects.
	Spec ObjectsSpec `json:"spec"`
}

type ObjectsSpec struct {
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	// +optional
	Template runtime.RawExtension `json:"template,omitempty"`
	// +kubebuilder:validation:XEmbeddedResource
	// +kubebuilder:validation:XPreserveUnknownFields
	// +optional
	Other runtime.RawExtension `json:"other,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Settings runtime.RawExtension `json:"settings,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	Anything runtime.RawExtension `json:"anything,omitempty"`
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^\d+%?$`
	// +optional
	Share intstr.IntOrString `json:"share,omitempty"`
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// +optional
	Inner Inner `json:"inner,omitempty"`
	Shared `json:",inline"`
}

// Open to the future.
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:title=Inner
// +kubebuilder:externalDocs:url="https://example.com/inner"
type Inner struct {
	// +optional
	A string `json:"a,omitempty"`
}

type Shared struct {
	Owner string `json:"owner"`
	// +optional
	Notes string `json:"notes,omitempty"`
}
