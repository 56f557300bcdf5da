//! The operations of a resource: on the collection, on one object, and the deprecated watches.

use kubewright_machinery::gvk::GroupVersionKind;

use super::{Subject, answers, is_built_in, meta, object, with};
use crate::{
    openapi::{
        model::{Content, Definition, Method, Operation, Parameter, Path, RequestBody, Special},
        names::article,
    },
    registry::{PatchTypes, Shape},
};

pub(super) const ANY: &[&str] = &["*/*"];
const BUILT_IN: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];
const BUILT_IN_STREAMS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
const CUSTOM: &[&str] = &["application/json", "application/yaml"];
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
const CUSTOM_PATCHES: &[&str] = &[PATCHES[0], PATCHES[1], PATCHES[3]];

/// The scope of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a namespace.
    Namespace,
    /// Over all namespaces.
    AllNamespaces,
    /// Outside of namespaces.
    Cluster,
}

/// The kinds that an endpoint accepts and returns.
pub(super) struct Speaks {
    pub(super) kind: GroupVersionKind,
    pub(super) definition: Option<Definition>,
}

impl<'a> Subject<'_, 'a> {
    /// Returns the paths of the resource without its subresources.
    pub(super) fn paths(&self) -> Vec<Path<'a>> {
        let plural = &self.resource.spec.plural;
        let mut paths = Vec::new();
        let mut add = |template: String, operations: Vec<(Method, Operation<'a>)>| {
            if !operations.is_empty() {
                paths.push(Path {
                    template,
                    operations,
                });
            }
        };
        let home = self.home();
        let below = self.below_namespace();
        add(
            format!("{}{below}/{plural}", self.base),
            self.collection(home),
        );
        add(
            format!("{}{below}/{plural}/{{name}}", self.base),
            self.item(home),
        );
        let watched = self.can("watch") && is_built_in(self.resource);
        if watched {
            add(
                format!("{}/watch{below}/{plural}", self.base),
                vec![(Method::Get, self.watch_list(home))],
            );
            add(
                format!("{}/watch{below}/{plural}/{{name}}", self.base),
                vec![(Method::Get, self.watch_one(home))],
            );
        }
        if self.resource.spec.namespaced && self.can("list") {
            let everywhere = Place::AllNamespaces;
            add(
                format!("{}/{plural}", self.base),
                vec![(Method::Get, self.list(everywhere))],
            );
            if watched {
                add(
                    format!("{}/watch/{plural}", self.base),
                    vec![(Method::Get, self.watch_list(everywhere))],
                );
            }
        }
        paths
    }

    pub(super) fn home(&self) -> Place {
        if self.resource.spec.namespaced {
            Place::Namespace
        } else {
            Place::Cluster
        }
    }

    pub(super) fn below_namespace(&self) -> &'static str {
        if self.resource.spec.namespaced {
            "/namespaces/{namespace}"
        } else {
            ""
        }
    }

    fn can(&self, verb: &str) -> bool {
        let listed = &self.resource.spec.verbs;
        if listed.is_empty() {
            return self.resource.handlers.verbs().iter().any(|v| v == verb);
        }
        listed.iter().any(|v| v == verb)
    }

    fn collection(&self, place: Place) -> Vec<(Method, Operation<'a>)> {
        let mut operations = Vec::new();
        if self.can("list") {
            operations.push((Method::Get, self.list(place)));
        }
        if self.can("create") {
            operations.push((Method::Post, self.create(place, &self.speaks(), "")));
        }
        if self.can("deletecollection") {
            operations.push((Method::Delete, self.delete_collection(place)));
        }
        operations
    }

    fn item(&self, place: Place) -> Vec<(Method, Operation<'a>)> {
        let speaks = self.speaks();
        let mut operations = Vec::new();
        if self.can("get") {
            operations.push((Method::Get, self.read(place, &speaks, "")));
        }
        if self.can("update") {
            operations.push((Method::Put, self.replace(place, &speaks, "")));
        }
        if self.can("delete") {
            operations.push((Method::Delete, self.delete(place)));
        }
        if self.can("patch") {
            operations.push((Method::Patch, self.patch(place, &speaks, "")));
        }
        operations
    }

    fn list(&self, place: Place) -> Operation<'a> {
        let kind = &self.resource.spec.kind;
        let built_in = is_built_in(self.resource);
        let or_watch = if built_in && self.can("watch") {
            "list or watch"
        } else {
            "list"
        };
        let name = format!("{}List", kind.kind);
        let list = match self.resource.spec.shape {
            Shape::Typed(_) => kubewright_catalog::kind_type(&kind.group, &kind.version, &name)
                .map(Definition::Struct),
            Shape::Untyped => Some(Definition::CustomList(self.resource.clone())),
        };
        Operation {
            id: self.id("list", place, ""),
            description: format!("{or_watch} objects of kind {}", kind.kind),
            parameters: self.common(place, None, self.parameters.meta_options("ListOptions")),
            responses: answers(&[200], object(list)),
            produces: match built_in || self.is_declared() {
                true => BUILT_IN_STREAMS,
                false => CUSTOM,
            },
            ..self.operation("list", &self.speaks())
        }
    }

    fn watch_list(&self, place: Place) -> Operation<'a> {
        let kind = &self.resource.spec.kind.kind;
        Operation {
            id: self.id("watch", place, "List"),
            description: format!(
                "watch individual changes to a list of {kind}. deprecated: use the 'watch' parameter with a list \
                 operation instead."
            ),
            ..self.watch("watchlist", place, None)
        }
    }

    fn watch_one(&self, place: Place) -> Operation<'a> {
        let kind = &self.resource.spec.kind.kind;
        Operation {
            id: self.id("watch", place, ""),
            description: format!(
                "watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list \
                 operation instead, filtered to a single item with the 'fieldSelector' parameter."
            ),
            ..self.watch("watch", place, Some(kind))
        }
    }

    fn watch(&self, action: &'static str, place: Place, named: Option<&str>) -> Operation<'a> {
        Operation {
            parameters: self.common(place, named, self.parameters.meta_options("ListOptions")),
            responses: answers(&[200], object(meta("WatchEvent"))),
            produces: BUILT_IN_STREAMS,
            ..self.operation(action, &self.speaks())
        }
    }

    pub(super) fn create(&self, place: Place, speaks: &Speaks, sub: &str) -> Operation<'a> {
        let kind = &self.resource.spec.kind.kind;
        let (what, named) = match sub {
            "" => (String::new(), None),
            sub => (format!(" {sub} of"), Some(speaks.kind.kind.as_str())),
        };
        Operation {
            id: self.id("create", place, sub),
            description: format!("create{what}{}{kind}", article(kind)),
            parameters: self.common(place, named, self.parameters.meta_options("CreateOptions")),
            body: body(speaks.definition.clone(), true),
            responses: answers(&[200, 201, 202], object(speaks.definition.clone())),
            ..self.operation("post", speaks)
        }
    }

    pub(super) fn read(&self, place: Place, speaks: &Speaks, sub: &str) -> Operation<'a> {
        let options = if is_built_in(self.resource) {
            Vec::new()
        } else {
            self.parameters.meta_options("GetOptions")
        };
        Operation {
            id: self.id("read", place, sub),
            description: self.sentence("read", sub),
            parameters: self.common(place, Some(&speaks.kind.kind), options),
            responses: answers(&[200], object(speaks.definition.clone())),
            ..self.operation("get", speaks)
        }
    }

    pub(super) fn replace(&self, place: Place, speaks: &Speaks, sub: &str) -> Operation<'a> {
        let options = self.parameters.meta_options("UpdateOptions");
        Operation {
            id: self.id("replace", place, sub),
            description: self.sentence("replace", sub),
            parameters: self.common(place, Some(&speaks.kind.kind), options),
            body: body(speaks.definition.clone(), true),
            responses: answers(&[200, 201], object(speaks.definition.clone())),
            ..self.operation("put", speaks)
        }
    }

    pub(super) fn patch(&self, place: Place, speaks: &Speaks, sub: &str) -> Operation<'a> {
        let options = self.parameters.meta_options("PatchOptions");
        let codes: &[u16] = if is_built_in(self.resource) {
            &[200, 201]
        } else {
            &[200]
        };
        Operation {
            id: self.id("patch", place, sub),
            description: self.sentence("partially update", sub),
            parameters: self.common(place, Some(&speaks.kind.kind), options),
            body: body(Some(Definition::Special(Special::Patch)), true),
            responses: answers(codes, object(speaks.definition.clone())),
            consumes: match self.resource.patch_types() {
                PatchTypes::All => &PATCHES,
                PatchTypes::WithApply => CUSTOM_PATCHES,
                PatchTypes::Basic => &PATCHES[..2],
            },
            ..self.operation("patch", speaks)
        }
    }

    fn delete(&self, place: Place) -> Operation<'a> {
        let kind = &self.resource.spec.kind.kind;
        let handler = self.resource.handlers.delete.as_ref();
        // A namespace responds with itself, but kube-apiserver does not document it.
        let untold = self.resource.spec.group_version.group.is_empty() && kind == "Namespace";
        let definition = match handler {
            Some(handler) if handler.returns_deleted_object() && !untold => {
                self.speaks().definition
            }
            _ => meta("Status"),
        };
        let options = self.parameters.meta_options("DeleteOptions");
        Operation {
            id: self.id("delete", place, ""),
            description: format!("delete{}{kind}", article(kind)),
            parameters: self.common(place, Some(kind), options),
            body: body(meta("DeleteOptions"), false),
            responses: answers(&[200, 202], object(definition)),
            ..self.operation("delete", &self.speaks())
        }
    }

    fn delete_collection(&self, place: Place) -> Operation<'a> {
        let built_in = is_built_in(self.resource);
        let mut options = self.parameters.meta_options("ListOptions");
        if built_in {
            options.retain(|p| p.name != "watch" && p.name != "allowWatchBookmarks");
            options.extend(self.parameters.meta_options("DeleteOptions"));
        }
        Operation {
            id: self.id("delete", place, "Collection"),
            description: format!("delete collection of {}", self.resource.spec.kind.kind),
            parameters: self.common(place, None, options),
            body: body(meta("DeleteOptions").filter(|_| built_in), false),
            responses: answers(&[200], object(meta("Status"))),
            ..self.operation("deletecollection", &self.speaks())
        }
    }

    /// Returns whether custom objects have a protobuf form.
    fn is_declared(&self) -> bool {
        let custom = self.resource.custom.as_ref();
        custom.is_some_and(|custom| custom.protobuf().is_some())
    }

    /// Returns the parts that all operations share.
    pub(super) fn operation(&self, action: &'static str, speaks: &Speaks) -> Operation<'a> {
        let built_in = is_built_in(self.resource);
        let declared = self.is_declared();
        Operation {
            tag: self.tag.clone(),
            description: String::new(),
            id: String::new(),
            parameters: Vec::new(),
            body: None,
            responses: answers(&[200], Content::Text),
            consumes: match (built_in, declared) {
                (true, _) => ANY,
                (false, true) => BUILT_IN,
                (false, false) => CUSTOM,
            },
            produces: if built_in || declared {
                BUILT_IN
            } else {
                CUSTOM
            },
            action: Some(action),
            kind: Some(speaks.kind.clone()),
        }
    }

    /// Returns the identifier: `listCoreV1PodForAllNamespaces`, `readAppsV1NamespacedDeploymentScale`,
    /// `deleteCoreV1CollectionNode`.
    pub(super) fn id(&self, verb: &str, place: Place, part: &str) -> String {
        let kind = &self.resource.spec.kind.kind;
        let (before, part) = match part {
            "Collection" => ("Collection", String::new()),
            part => ("", crate::openapi::names::title(part)),
        };
        let (namespaced, suffix) = match place {
            Place::Namespace => ("Namespaced", ""),
            Place::AllNamespaces => ("", "ForAllNamespaces"),
            Place::Cluster => ("", ""),
        };
        format!(
            "{verb}{}{before}{namespaced}{kind}{part}{suffix}",
            self.scope
        )
    }

    /// Returns the kinds of the resource itself.
    pub(super) fn speaks(&self) -> Speaks {
        let definition = match self.resource.spec.shape {
            Shape::Typed(ty) => Definition::Struct(ty),
            Shape::Untyped => Definition::Custom(self.resource.clone()),
        };
        Speaks {
            kind: self.resource.spec.kind.clone(),
            definition: Some(definition),
        }
    }

    /// Returns the options and the parameters of every request; `named` is the kind that a name in the path belongs to.
    fn common(
        &self,
        place: Place,
        named: Option<&str>,
        options: Vec<Parameter<'a>>,
    ) -> Vec<Parameter<'a>> {
        let pretty = self.parameters.pretty();
        with(
            self.in_path(place, named).into_iter().chain([pretty]),
            options,
        )
    }

    pub(super) fn in_path(&self, place: Place, named: Option<&str>) -> Vec<Parameter<'a>> {
        let name = named.map(|kind| self.parameters.name(kind));
        let namespace = (place == Place::Namespace).then(|| self.parameters.namespace());
        name.into_iter().chain(namespace).collect()
    }

    pub(super) fn sentence(&self, verb: &str, sub: &str) -> String {
        let kind = &self.resource.spec.kind.kind;
        match sub {
            "" => format!("{verb} the specified {kind}"),
            sub => format!("{verb} {sub} of the specified {kind}"),
        }
    }
}

fn body(content: Option<Definition>, required: bool) -> Option<RequestBody> {
    content.map(|content| RequestBody { content, required })
}
