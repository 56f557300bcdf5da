package envtest

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

var (
	gadgetV1 = schema.GroupVersion{Group: "example.com", Version: "v1"}
	gadgetV2 = schema.GroupVersion{Group: "example.com", Version: "v2"}
)

// Gadget is the stored version of the kind.
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GadgetSpec `json:"spec,omitempty"`
}

type GadgetSpec struct {
	Size  int    `json:"size,omitempty"`
	Color string `json:"color,omitempty"`
}

// Hub marks the version that the other one is converted to and from.
func (*Gadget) Hub() {}

func (g *Gadget) DeepCopyObject() runtime.Object {
	out := &Gadget{TypeMeta: g.TypeMeta, Spec: g.Spec}
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

// WideGadget is version v2, in which the size is a text and has another name.
type WideGadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WideGadgetSpec `json:"spec,omitempty"`
}

type WideGadgetSpec struct {
	Width string `json:"width,omitempty"`
	Color string `json:"color,omitempty"`
}

func (g *WideGadget) DeepCopyObject() runtime.Object {
	out := &WideGadget{TypeMeta: g.TypeMeta, Spec: g.Spec}
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

func (g *WideGadget) ConvertTo(hub conversion.Hub) error {
	to := hub.(*Gadget)
	to.ObjectMeta = g.ObjectMeta
	to.Spec.Color = g.Spec.Color
	if g.Spec.Width == "" {
		return nil
	}
	if _, err := fmt.Sscanf(g.Spec.Width, "%dcm", &to.Spec.Size); err != nil {
		return fmt.Errorf("width %q: %w", g.Spec.Width, err)
	}
	return nil
}

func (g *WideGadget) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*Gadget)
	g.ObjectMeta = from.ObjectMeta
	g.Spec = WideGadgetSpec{Width: fmt.Sprintf("%dcm", from.Spec.Size), Color: from.Spec.Color}
	return nil
}

func gadgetScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(gadgetV1.WithKind("Gadget"), &Gadget{})
	scheme.AddKnownTypeWithName(gadgetV2.WithKind("Gadget"), &WideGadget{})
	metav1.AddToGroupVersion(scheme, gadgetV1)
	metav1.AddToGroupVersion(scheme, gadgetV2)
	return scheme
}

func gadgetDefinition() *apiextensionsv1.CustomResourceDefinition {
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceValidation {
		spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
		return &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec},
		}}
	}
	text, number := apiextensionsv1.JSONSchemaProps{Type: "string"}, apiextensionsv1.JSONSchemaProps{Type: "integer"}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Gadget", Plural: "gadgets"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Storage: true, Schema: object(map[string]apiextensionsv1.JSONSchemaProps{"size": number, "color": text})},
				{Name: "v2", Served: true, Schema: object(map[string]apiextensionsv1.JSONSchemaProps{"width": text, "color": text})},
			},
		},
	}
}
