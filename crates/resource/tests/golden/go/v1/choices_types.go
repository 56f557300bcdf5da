package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// One of several.
// +kubebuilder:object:root=true
type Choices struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// One of several.
	Spec ChoicesSpec `json:"spec"`
}

// One of several.
// +kubebuilder:validation:AtMostOneOf=alpha;beta
// +kubebuilder:validation:AtLeastOneOf=gamma;delta
// +kubebuilder:validation:ExactlyOneOf=eta;theta
type ChoicesSpec struct {
	Source Source `json:"source"`
	// +optional
	Alpha *string `json:"alpha,omitempty"`
	// +optional
	Beta *string `json:"beta,omitempty"`
	// +optional
	Gamma *string `json:"gamma,omitempty"`
	// +optional
	Delta *string `json:"delta,omitempty"`
	// +optional
	Eta *string `json:"eta,omitempty"`
	// +optional
	Theta *string `json:"theta,omitempty"`
	// +optional
	Level Level `json:"level,omitempty"`
}

// Where it comes from.
// +kubebuilder:validation:ExactlyOneOf=git;http;inline
type Source struct {
	// A repository.
	// +optional
	Git *Git `json:"git,omitempty"`
	// A file.
	// +optional
	Http *Http `json:"http,omitempty"`
	// As it stands.
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Inline *string `json:"inline,omitempty"`
}

type Git struct {
	Repository string `json:"repository"`
	// +optional
	Branch string `json:"branch,omitempty"`
}

type Http struct {
	// +kubebuilder:validation:Format=uri
	Url string `json:"url"`
}

// How loud.
// +k8s:enum
type Level string

const (
	LevelLoud  Level = "Loud"
	LevelQuiet Level = "Quiet"
)
