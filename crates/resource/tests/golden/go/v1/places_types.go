package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Marks where they may stand: on types, on what is in lists, on types that are lists.
// +kubebuilder:object:root=true
type Places struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Marks where they may stand: on types, on what is in lists, on types that are lists.
	Spec PlacesSpec `json:"spec"`
}

type PlacesSpec struct {
	// +optional
	Number *Number `json:"number,omitempty"`
	// +optional
	Word *Word `json:"word,omitempty"`
	// +optional
	Bag Bag `json:"bag,omitempty"`
	// +optional
	Row Row `json:"row,omitempty"`
	// +optional
	Shaped *Shaped `json:"shaped,omitempty"`
	// +optional
	Open *Open `json:"open,omitempty"`
	// +optional
	Embedded *Embedded `json:"embedded,omitempty"`

	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=9
	// +kubebuilder:validation:items:ExclusiveMinimum=true
	// +kubebuilder:validation:items:ExclusiveMaximum=true
	// +kubebuilder:validation:items:MultipleOf=2
	// +kubebuilder:validation:items:XValidation:rule="self != 4",message="not four",reason="FieldValueForbidden"
	// +optional
	Numbers []int64 `json:"numbers,omitempty"`
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=9
	// +kubebuilder:validation:items:Pattern=`^[a-z.]+$`
	// +kubebuilder:validation:items:Format=hostname
	// +optional
	Words []string `json:"words,omitempty"`
	// +kubebuilder:validation:items:Enum=a;b
	// +optional
	Choices []string `json:"choices,omitempty"`
	// +kubebuilder:validation:items:MinProperties=1
	// +kubebuilder:validation:items:MaxProperties=2
	// +optional
	Bags []map[string]string `json:"bags,omitempty"`
	// +kubebuilder:validation:items:MinItems=1
	// +kubebuilder:validation:items:MaxItems=2
	// +optional
	Rows [][]string `json:"rows,omitempty"`
	// +kubebuilder:validation:items:Type=string
	// +optional
	Shapes []int64 `json:"shapes,omitempty"`
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +optional
	Opens []Plain `json:"opens,omitempty"`
	// +kubebuilder:validation:items:XEmbeddedResource
	// +optional
	Embeds []Plain `json:"embeds,omitempty"`
	// +kubebuilder:validation:items:XIntOrString
	// +optional
	Eithers []intstr.IntOrString `json:"eithers,omitempty"`

	// +optional
	NumberList NumberList `json:"numberList,omitempty"`
	// +optional
	WordList WordList `json:"wordList,omitempty"`
	// +optional
	ChoiceList ChoiceList `json:"choiceList,omitempty"`
	// +optional
	BagList BagList `json:"bagList,omitempty"`
	// +optional
	RowList RowList `json:"rowList,omitempty"`
	// +optional
	ShapeList ShapeList `json:"shapeList,omitempty"`
	// +optional
	OpenList OpenList `json:"openList,omitempty"`
	// +optional
	EmbedList EmbedList `json:"embedList,omitempty"`
	// +optional
	EitherList EitherList `json:"eitherList,omitempty"`
}

// +kubebuilder:validation:Minimum=1
// +kubebuilder:validation:Maximum=9
// +kubebuilder:validation:ExclusiveMinimum=true
// +kubebuilder:validation:ExclusiveMaximum=true
// +kubebuilder:validation:MultipleOf=2
// +kubebuilder:validation:XValidation:rule="self != 4",message="not four",reason="FieldValueForbidden"
type Number int64

// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=9
// +kubebuilder:validation:Pattern=`^[a-z.]+$`
// +kubebuilder:validation:Format=hostname
type Word string

// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=2
type Bag map[string]string

// +kubebuilder:validation:MinItems=1
// +kubebuilder:validation:MaxItems=2
type Row []string

// +kubebuilder:validation:Type=string
type Shaped int64

// +kubebuilder:validation:XPreserveUnknownFields
type Open struct {
	A string `json:"a"`
}

// +kubebuilder:validation:XEmbeddedResource
type Embedded struct {
	A string `json:"a"`
}

type Plain struct {
	A string `json:"a"`
}

// +kubebuilder:validation:MaxItems=4
// +kubebuilder:validation:items:Minimum=1
// +kubebuilder:validation:items:Maximum=9
// +kubebuilder:validation:items:ExclusiveMinimum=true
// +kubebuilder:validation:items:ExclusiveMaximum=true
// +kubebuilder:validation:items:MultipleOf=2
// +kubebuilder:validation:items:XValidation:rule="self != 4",message="not four",reason="FieldValueForbidden"
type NumberList []int64

// +kubebuilder:validation:items:MinLength=1
// +kubebuilder:validation:items:MaxLength=9
// +kubebuilder:validation:items:Pattern=`^[a-z.]+$`
// +kubebuilder:validation:items:Format=hostname
type WordList []string

// +kubebuilder:validation:items:Enum=a;b
type ChoiceList []string

// +kubebuilder:validation:items:MinProperties=1
// +kubebuilder:validation:items:MaxProperties=2
type BagList []map[string]string

// +kubebuilder:validation:items:MinItems=1
// +kubebuilder:validation:items:MaxItems=2
type RowList [][]string

// +kubebuilder:validation:items:Type=string
type ShapeList []int64

// +kubebuilder:validation:items:XPreserveUnknownFields
type OpenList []Plain

// +kubebuilder:validation:items:XEmbeddedResource
type EmbedList []Plain

// +kubebuilder:validation:items:XIntOrString
type EitherList []intstr.IntOrString
