package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Lists and maps, and how they merge.
// +kubebuilder:object:root=true
type Lists struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Lists and maps, and how they merge.
	Spec ListsSpec `json:"spec"`
}

type ListsSpec struct {
	// +listType=map
	// +listMapKey=name
	// +listMapKey=protocol
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Ports []Port `json:"ports"`
	// +listType=set
	// +optional
	Tags []string `json:"tags,omitempty"`
	// +listType=set
	// +optional
	Zones []string `json:"zones,omitempty"`
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`
	// +mapType=atomic
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=4
	// +optional
	Selector map[string]string `json:"selector,omitempty"`
	// +mapType=granular
	// +optional
	Limits map[string]Percent `json:"limits,omitempty"`
	// +structType=atomic
	// +optional
	Ref *Ref `json:"ref,omitempty"`
	// +optional
	Whole *Whole `json:"whole,omitempty"`
}

type Port struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	// +optional
	Number int32 `json:"number,omitempty"`
}

type Ref struct {
	Name string `json:"name"`
}

// Set as a whole.
// +structType=atomic
type Whole struct {
	// +optional
	A string `json:"a,omitempty"`
}
