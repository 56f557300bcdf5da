//! The check that the writer of a policy or a binding may read the parameters that it uses.

use std::fmt::Write as _;

use kubewright_apiserver::{
    auth::{Attributes, MASTERS, ResourceAttributes},
    request::{RequestContext, UserInfo},
};
use kubewright_machinery::{
    field::{self, ErrorList, Path},
    gvk::{GroupVersion, GroupVersionKind},
    json::{Read, same},
};
use serde_json::Value;

use super::{GROUP, Params};
use crate::{
    admission::stored::Stored,
    kinds::{Environment, collection},
};

/// The check of writes to one kind.
pub(crate) struct ParamAccess {
    kind: Kind,
    params: Params,
    stored: Stored,
}

enum Kind {
    Policy,
    /// A binding, with the plural name of its policies.
    Binding(&'static str),
}

/// The resource of a kind of parameters. Unknown parts are `*`.
struct Resolved {
    group: String,
    version: String,
    resource: String,
    /// The reason why not everything is known.
    problem: Option<String>,
}

impl ParamAccess {
    /// Returns the check for a kind, or `None` if the kind uses no parameters.
    pub(crate) fn of(group: &str, kind: &str, environment: &Environment) -> Option<Self> {
        let kind = match kind {
            _ if group != GROUP => return None,
            "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => Kind::Policy,
            "ValidatingAdmissionPolicyBinding" => Kind::Binding("validatingadmissionpolicies"),
            "MutatingAdmissionPolicyBinding" => Kind::Binding("mutatingadmissionpolicies"),
            _ => return None,
        };
        Some(Self {
            kind,
            params: environment.params.clone(),
            stored: Stored(environment.store.clone()),
        })
    }

    /// Returns an error if the writer of a valid object may not read its parameters.
    pub(crate) async fn check(
        &self,
        cx: &RequestContext,
        object: &Value,
        old: Option<&Value>,
    ) -> ErrorList {
        let spec = &object["spec"];
        let (name, checked) = match self.kind {
            Kind::Policy => ("paramKind", &spec["paramKind"]),
            Kind::Binding(_) => ("paramRef", &spec["paramRef"]),
        };
        if !checked.is_set() || cx.user.groups.iter().any(|group| group == MASTERS) {
            return ErrorList::new();
        }
        let checked = match self.kind {
            // The same kind was checked before. References are always checked, as in Kubernetes.
            Kind::Policy if old.is_some_and(|old| same(&old["spec"]["paramKind"], checked)) => {
                Ok(())
            }
            Kind::Policy => self.check_policy(cx, checked).await,
            Kind::Binding(policies) => self.check_binding(cx, spec, policies).await,
        };
        let path = Path::new("spec").child(name);
        let error = checked.err().map(|text| field::forbidden(&path, text));
        error.into_iter().collect()
    }

    async fn check_policy(&self, cx: &RequestContext, kind: &Value) -> Result<(), String> {
        let resolved = self.resolve(kind);
        let all = ResourceAttributes {
            name: "*",
            namespace: "*",
            ..resolved.attributes()
        };
        if may(cx, "get", all).await? {
            return Ok(());
        }
        let (user, name, version) = (
            shown(&cx.user),
            kind["kind"].text(),
            kind["apiVersion"].text(),
        );
        Err(format!(
            "user {user} must have \"get\" permission on all objects of the referenced paramKind (kind={name}, apiVersion={version})"
        ))
    }

    async fn check_binding(
        &self,
        cx: &RequestContext,
        spec: &Value,
        policies: &'static str,
    ) -> Result<(), String> {
        let (reference, policy) = (&spec["paramRef"], spec["policyName"].text());
        let found: Result<Option<Value>, _> =
            self.stored.get(&collection(GROUP, policies), policy).await;
        let resolved = match found {
            Ok(Some(found)) if found["spec"]["paramKind"].is_set() => {
                self.resolve(&found["spec"]["paramKind"])
            }
            Ok(Some(_)) => Resolved::default(),
            _ => Resolved {
                problem: Some(format!("unable to get policy {policy}")),
                ..Resolved::default()
            },
        };
        let verb = match reference["name"].text() {
            "" => "list",
            _ => "get",
        };
        let referred = ResourceAttributes {
            name: reference["name"].text(),
            namespace: reference["namespace"].text(),
            ..resolved.attributes()
        };
        let validating = policies == "validatingadmissionpolicies";
        let allowed = may(cx, verb, referred).await;
        let allowed = match validating {
            true => allowed.map_err(|e| format!("failed to authorize request: {e}"))?,
            false => allowed?,
        };
        if allowed {
            return Ok(());
        }
        let user = shown(&cx.user);
        Err(match &resolved.problem {
            Some(problem) => format!(
                "{problem} to determine minimum required permissions and user {user} does not have \"{verb}\" permission for all groups, versions and resources"
            ),
            None => {
                // The text about mutating policies has the two the other way round.
                let (first, second) = match validating {
                    true => (user.as_str(), verb),
                    false => (verb, user.as_str()),
                };
                format!(
                    "user {first} does not have \"{second}\" permission on the object referenced by paramRef"
                )
            }
        })
    }

    fn resolve(&self, kind: &Value) -> Resolved {
        let (version, name) = (kind["apiVersion"].text(), kind["kind"].text());
        let shown = || format!("&{{{version} {name}}}");
        let Some(parsed) = GroupVersion::parse(version) else {
            return Resolved {
                problem: Some(format!("unable to parse paramKind {}", shown())),
                ..Resolved::default()
            };
        };
        let kind = GroupVersionKind::new(&parsed.group, &parsed.version, name);
        let resource = self.params.resource(&kind);
        Resolved {
            group: parsed.group,
            version: parsed.version,
            problem: match &resource {
                Ok(_) => None,
                Err(_) => Some(format!("unable to resolve paramKind {}", shown())),
            },
            resource: resource.map_or_else(|_| "*".to_owned(), |r| r.spec().plural.clone()),
        }
    }
}

impl Default for Resolved {
    fn default() -> Self {
        Self {
            group: "*".to_owned(),
            version: "*".to_owned(),
            resource: "*".to_owned(),
            problem: None,
        }
    }
}

impl Resolved {
    fn attributes(&self) -> ResourceAttributes<'_> {
        ResourceAttributes {
            group: &self.group,
            version: &self.version,
            resource: &self.resource,
            ..ResourceAttributes::default()
        }
    }
}

async fn may(
    cx: &RequestContext,
    verb: &str,
    resource: ResourceAttributes<'_>,
) -> Result<bool, String> {
    let attributes = Attributes::of_resource(&cx.user, verb, resource);
    let decision = cx.authorize(&attributes).await;
    match decision.error {
        Some(error) => Err(error),
        None => Ok(decision.is_allow()),
    }
}

/// Returns a user as Go prints one.
fn shown(user: &UserInfo) -> String {
    let mut extra: Vec<_> = user.extra.iter().collect();
    extra.sort();
    let mut out = format!(
        "&{{{} {} [{}] map[",
        user.name,
        user.uid,
        user.groups.join(" ")
    );
    for (i, (key, values)) in extra.iter().enumerate() {
        let space = if i > 0 { " " } else { "" };
        let _ = write!(out, "{space}{key}:[{}]", values.join(" "));
    }
    out.push_str("]}");
    out
}
