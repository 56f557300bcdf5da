//! `serviceaccounts/token`: token requests.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kubewright_apiserver::{
    Object,
    admission::Attributes,
    boxed_async,
    registry::{Create, Draft, Fields, Generic, Handlers},
    request::{RequestContext, WriteOptions},
    rfc3339,
};
use kubewright_builtins::authentication::token_request;
use kubewright_machinery::{
    Status, field, go,
    gvk::{GroupKind, GroupResource},
    json::Read,
    status,
    validation::names,
};
use serde_json::{Value, json};

use crate::{
    kinds::BuiltInKind,
    service_accounts::{Binding, Identity, ServiceAccounts, TokenSpec},
};

pub(super) fn handlers(kind: &BuiltInKind<'_>) -> Handlers {
    let create = Token {
        accounts: kind.generic.clone(),
        service_accounts: kind.environment.service_accounts.clone(),
    };
    Handlers {
        create: Some(Arc::new(create)),
        ..Handlers::default()
    }
}

struct Token {
    accounts: Generic,
    service_accounts: ServiceAccounts,
}

#[boxed_async]
impl Create for Token {
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        draft: Draft,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        let mut request = draft.into_value();
        check_name(&request, name)?;
        let account = self.accounts.read(cx, name).await?;
        check_uid(&request, &account, name)?;
        let issuer = &self.service_accounts.issuer;
        let now = issuer.now();
        prepare(&mut request, &account, issuer.audiences(), now);
        let errors = token_request::validate(&request);
        if !errors.is_empty() {
            return Err(status::invalid(&kind(), "", &errors));
        }
        let attributes = Attributes::create(name, options);
        cx.admission
            .validate(cx, &attributes, Some(&request))
            .await?;
        let binding = self.binding(cx, name, &request["spec"]["boundObjectRef"]);
        let binding = binding.await?;
        let mut seconds = request["spec"]["expirationSeconds"].int();
        if let Some(max) = issuer.max_seconds().filter(|max| seconds > *max) {
            cx.warnings.add(format!(
                "requested expiration of {seconds} seconds shortened to {max} seconds"
            ));
            seconds = max;
            request["spec"]["expirationSeconds"] = json!(max);
        }
        let audiences = request["spec"]["audiences"].texts().map(str::to_owned);
        let spec = TokenSpec {
            namespace: cx.namespace(),
            account: identity(&account),
            audiences: audiences.collect(),
            seconds,
            binding,
        };
        let issued = issuer.issue(spec, now).map_err(|e| {
            let text = format!("failed to generate token: {e}");
            status::internal(text)
        })?;
        cx.annotations
            .add("authentication.kubernetes.io/issued-credential-id", || {
                format!("JTI={}", issued.jti)
            });
        let expiry = now.checked_add(SignedDuration::from_secs(seconds));
        request["status"] = json!({
            "token": issued.token,
            "expirationTimestamp": rfc3339(expiry.unwrap_or(Timestamp::MAX)),
        });
        Ok(Object::from_value(&request))
    }
}

impl Token {
    /// Looks up the object that the token will be bound to.
    async fn binding(
        &self,
        cx: &RequestContext,
        account: &str,
        reference: &Value,
    ) -> Result<Option<Binding>, Status> {
        if reference.is_null() {
            return Ok(None);
        }
        let (group, version) = group_version(reference["apiVersion"].text());
        let (kind, name) = (reference["kind"].text(), reference["name"].text());
        let resource = match (group, kind) {
            ("", "Pod") => "pods",
            ("", "Secret") => "secrets",
            ("", "Node") => "nodes",
            _ => {
                let text =
                    format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
                return Err(status::bad_request(text));
            }
        };
        let namespace = match resource {
            "nodes" => "",
            _ => cx.namespace(),
        };
        let object = self.stored(resource, namespace, name).await?;
        let object =
            object.ok_or_else(|| status::not_found(&GroupResource::new("", resource), name))?;
        let binding = match resource {
            "pods" => {
                if object["spec"]["serviceAccountName"].text() != account {
                    let account = go::quote(account);
                    return Err(status::bad_request(format!(
                        "cannot bind token for serviceaccount {account} to pod running with different serviceaccount name."
                    )));
                }
                let node = self.node(object["spec"]["nodeName"].text()).await?;
                Binding::Pod(identity(&object), node)
            }
            "secrets" => Binding::Secret(identity(&object)),
            _ => Binding::Node(identity(&object)),
        };
        let wanted = reference["uid"].text();
        if !wanted.is_empty() && wanted != object["metadata"]["uid"].text() {
            return Err(status::conflict(
                &GroupResource::new("", kind),
                name,
                format!(
                    "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might have been deleted and then recreated"
                ),
            ));
        }
        Ok(Some(binding))
    }

    /// Returns the node of a pod. Of one that does not exist only the name is known.
    async fn node(&self, name: &str) -> Result<Option<Identity>, Status> {
        if name.is_empty() {
            return Ok(None);
        }
        let node = self.stored("nodes", "", name).await?;
        Ok(Some(node.as_ref().map(identity).unwrap_or_else(|| {
            Identity {
                name: name.to_owned(),
                uid: String::new(),
            }
        })))
    }

    async fn stored(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Status> {
        if name.is_empty() {
            return Err(status::bad_request("Name parameter required."));
        }
        let wrong = names::is_path_segment_name(name);
        if !wrong.is_empty() {
            let name = go::quote(name);
            let text = format!("Name parameter invalid: {name}: {}", wrong.join(";"));
            return Err(status::bad_request(text));
        }
        let fields = Fields::new([
            "metadata.name",
            "metadata.uid",
            "spec.serviceAccountName",
            "spec.nodeName",
        ]);
        let objects = &self.service_accounts.objects;
        let object = objects.fields(resource, namespace, name, &fields).await;
        object.map_err(status::internal)
    }
}

/// Splits an `apiVersion`. One that is none counts as missing.
fn group_version(text: &str) -> (&str, &str) {
    match text.split_once('/') {
        None => ("", text),
        Some((group, version)) if !version.contains('/') => (group, version),
        Some(_) => ("", ""),
    }
}

fn kind() -> GroupKind {
    GroupKind::new("authentication.k8s.io", "TokenRequest")
}

fn identity(object: &Value) -> Identity {
    Identity {
        name: object["metadata"]["name"].text().to_owned(),
        uid: object["metadata"]["uid"].text().to_owned(),
    }
}

fn check_name(request: &Value, name: &str) -> Result<(), Status> {
    let own = request["metadata"]["name"].text();
    if own.is_empty() || own == name {
        return Ok(());
    }
    let path = field::Path::new("metadata").child("name");
    let message = "must match the service account name if specified";
    let errors = [field::invalid(&path, &json!(own), message)];
    Err(status::invalid(&kind(), name, &errors))
}

fn check_uid(request: &Value, account: &Value, name: &str) -> Result<(), Status> {
    let (own, uid) = (
        request["metadata"]["uid"].text(),
        account["metadata"]["uid"].text(),
    );
    if own.is_empty() || own == uid {
        return Ok(());
    }
    Err(status::conflict(
        &GroupResource::new("authentication.k8s.io", "TokenRequest"),
        name,
        format!(
            "the UID in the token request ({own}) does not match the UID of the service account ({uid})"
        ),
    ))
}

/// Sets the fields that a request leaves open, and those that clients cannot choose.
fn prepare(request: &mut Value, account: &Value, audiences: &[String], now: Timestamp) {
    let audiences: Vec<&str> = audiences.iter().map(String::as_str).collect();
    token_request::put_audiences(request, &audiences);
    for key in ["name", "namespace", "uid"] {
        request["metadata"][key] = account["metadata"][key].clone();
    }
    request["metadata"]["creationTimestamp"] = json!(rfc3339(now));
    request["status"] = json!({});
}
