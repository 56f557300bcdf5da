//! The operations of subresources: views and streams.

use kubewright_machinery::gvk::GroupVersionKind;

use super::{
    Subject, answers, is_built_in,
    operations::{ANY, Place, Speaks},
    with,
};
use crate::{
    openapi::{
        model::{Content, Definition, Method, Operation, Path},
        names::title,
    },
    registry::{Connect, Shape, Subresource, SubresourceKind},
};

const TEXT: &[&str] = &[
    "text/plain",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

impl<'a> Subject<'_, 'a> {
    /// Returns the paths of a subresource.
    pub(super) fn below(&self, sub: &'a Subresource) -> Vec<Path<'a>> {
        let template = format!(
            "{}{}/{}/{{name}}/{}",
            self.base,
            self.below_namespace(),
            self.resource.spec.plural,
            sub.name
        );
        if let Some(connect) = &sub.handlers.connect {
            return self.conversation(sub, connect.as_ref(), template);
        }
        let (place, name) = (self.home(), sub.name.as_str());
        let speaks = self.spoken_below(sub);
        let verbs = if sub.verbs.is_empty() {
            sub.handlers.verbs()
        } else {
            sub.verbs.clone()
        };
        let operations: Vec<_> = verbs
            .iter()
            .filter_map(|verb| match verb.as_str() {
                "get" => Some((Method::Get, self.read(place, &speaks, name))),
                "update" => Some((Method::Put, self.replace(place, &speaks, name))),
                "patch" => Some((Method::Patch, self.patch(place, &speaks, name))),
                "create" => Some((Method::Post, self.create(place, &speaks, name))),
                _ => None,
            })
            .collect();
        if operations.is_empty() {
            return Vec::new();
        }
        vec![Path {
            template,
            operations,
        }]
    }

    /// Custom resources use their own name, unless the subresource has a kind with a schema of its own.
    fn spoken_below(&self, sub: &Subresource) -> Speaks {
        let own = self.speaks();
        if let Some(object) = &sub.object {
            return Speaks {
                definition: Some(Definition::Custom(object.clone())),
                kind: object.spec.kind.clone(),
            };
        }
        match &sub.kind {
            SubresourceKind::Parent => own,
            SubresourceKind::Other(kind, shape) => Speaks {
                definition: match shape {
                    Shape::Typed(ty) => Some(Definition::Struct(ty)),
                    Shape::Untyped => {
                        kubewright_catalog::kind_type(&kind.group, &kind.version, &kind.kind)
                            .map(Definition::Struct)
                    }
                },
                kind: if is_built_in(self.resource) {
                    kind.clone()
                } else {
                    own.kind
                },
            },
        }
    }

    fn conversation(
        &self,
        sub: &'a Subresource,
        connect: &dyn Connect,
        template: String,
    ) -> Vec<Path<'a>> {
        let methods = connect.methods();
        let SubresourceKind::Other(kind, shape) = &sub.kind else {
            return vec![self.text(sub, template)];
        };
        let mut paths = vec![self.connected(sub, kind, shape, methods, template.clone(), false)];
        // A proxy accepts every method, and a path.
        if methods.contains(&http::Method::DELETE) {
            let longer = format!("{template}/{{path}}");
            paths.push(self.connected(sub, kind, shape, methods, longer, true));
        }
        paths
    }

    /// Returns the operation that reads something that is not an object: a log.
    fn text(&self, sub: &'a Subresource, template: String) -> Path<'a> {
        let kind = &self.resource.spec.kind;
        let place = self.home();
        let name = format!("{}{}Options", kind.kind, title(&sub.name));
        let options = kubewright_catalog::kind_type(&kind.group, &kind.version, &name)
            .filter(|_| is_built_in(self.resource))
            .map(|ty| self.parameters.options(ty))
            .unwrap_or_default();
        let pretty = self.parameters.pretty();
        let in_path = self.in_path(place, Some(&kind.kind));
        let operation = Operation {
            id: self.id("read", place, &sub.name),
            description: self.sentence("read", &sub.name),
            parameters: with(in_path.into_iter().chain([pretty]), options),
            responses: answers(&[200], Content::Text),
            produces: TEXT,
            ..self.operation("get", &self.speaks())
        };
        Path {
            template,
            operations: vec![(Method::Get, operation)],
        }
    }

    fn connected(
        &self,
        sub: &'a Subresource,
        kind: &GroupVersionKind,
        shape: &Shape,
        methods: &[http::Method],
        template: String,
        with_path: bool,
    ) -> Path<'a> {
        let parent = &self.resource.spec.kind.kind;
        let options = match shape {
            Shape::Typed(ty) => self.parameters.options(ty),
            Shape::Untyped => Vec::new(),
        };
        let (place, rest, suffix) = match with_path {
            true => (
                self.home(),
                Some(self.parameters.rest_of_path()),
                "WithPath",
            ),
            false => (self.home(), None, ""),
        };
        let namespaced = if place == Place::Namespace {
            "Namespaced"
        } else {
            ""
        };
        let in_path = self.in_path(place, Some(&kind.kind));
        let parameters = with(in_path.into_iter().chain(rest), options);
        let speaks = Speaks {
            kind: kind.clone(),
            definition: None,
        };
        let operations = methods
            .iter()
            .filter_map(Method::of)
            .map(|method| {
                let verb = title(method.key());
                let operation = Operation {
                    id: format!(
                        "connect{}{verb}{namespaced}{parent}{}{suffix}",
                        self.scope,
                        title(&sub.name)
                    ),
                    description: format!(
                        "connect {} requests to {} of {parent}",
                        verb.to_uppercase(),
                        sub.name
                    ),
                    parameters: parameters.clone(),
                    responses: answers(&[200], Content::Text),
                    consumes: ANY,
                    produces: ANY,
                    ..self.operation("connect", &speaks)
                };
                (method, operation)
            })
            .collect();
        Path {
            template,
            operations,
        }
    }
}
