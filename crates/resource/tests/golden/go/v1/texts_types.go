package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Texts and what they may be.
// +kubebuilder:object:root=true
type Texts struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Texts and what they may be.
	Spec TextsSpec `json:"spec"`
}

type TextsSpec struct {
	// How it is called.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z][-a-z0-9]*$`
	// +kubebuilder:title=Name
	Name string `json:"name"`
	// +kubebuilder:validation:Format=email
	// +kubebuilder:example="a@example.com"
	// +optional
	Mail string `json:"mail,omitempty"`
	// +kubebuilder:externalDocs:url="https://example.com/colour",description="All about colours"
	// +optional
	Colour Colour `json:"colour,omitempty"`
	// +kubebuilder:validation:Enum=small;large
	// +optional
	Size string `json:"size,omitempty"`
	// +optional
	When *metav1.Time `json:"when,omitempty"`
	// +kubebuilder:validation:items:Pattern=`^[a-z]+$`
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=9
	// +optional
	Words []string `json:"words,omitempty"`
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +optional
	Wait int64 `json:"wait,omitempty"`
	// +optional
	Host Host `json:"host,omitempty"`
}

// A colour.
// +kubebuilder:validation:Enum=Red;DarkGreen
type Colour string

// The name of a machine.
// +kubebuilder:validation:Format=hostname
// +kubebuilder:validation:MaxLength=253
type Host string
