//! `serviceaccount-token-controller`: fills Secrets of the type `kubernetes.io/service-account-token`, deletes those whose
//! account is gone, and removes references to deleted ones from their account.

mod generator;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use k8s_openapi::{
    ByteString,
    api::core::v1::{Secret, ServiceAccount},
};
use kube::{ResourceExt, api::PostParams, core::ApiResource};
use kubewright_client::ErrorExt;
use kubewright_controller::{
    Action, AnyEvent, Context, Controller, Error, Handler, Manager, ManagerError, Predicate,
    Request, Result, Watch,
};
use kubewright_informer::{Event, Key, StoredObject};
use parking_lot::Mutex;

use crate::names::Name;

pub use generator::{SecretTokenClaims, TokenGenerator};

/// The type of the Secrets.
const TYPE: &str = "kubernetes.io/service-account-token";
/// The annotation with the name of the account.
const NAME: &str = "kubernetes.io/service-account.name";
/// The annotation with the uid of the account.
const UID: &str = "kubernetes.io/service-account.uid";

const TOKEN: &str = "token";
const ROOT_CA: &str = "ca.crt";
const NAMESPACE: &str = "namespace";

/// The contents of the Secrets.
#[derive(Clone)]
struct Contents {
    generator: Arc<dyn TokenGenerator>,
    root_ca: Arc<str>,
}

/// The accounts that deleted Secrets named, until the references are removed.
type Deleted = Arc<Mutex<HashMap<Key, Account>>>;

/// An account as a Secret names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Account {
    name: String,
    uid: Option<String>,
}

pub(crate) fn add_to(
    manager: &Manager,
    generator: Arc<dyn TokenGenerator>,
    root_ca: &str,
) -> Result<(), ManagerError> {
    let contents = Contents {
        generator,
        root_ca: root_ca.into(),
    };
    let deleted = Deleted::default();
    let forgotten = deleted.clone();
    let reconcile = move |context: Context, request: Request| {
        let (contents, deleted) = (contents.clone(), forgotten.clone());
        async move { reconcile(&context, &request, &contents, &deleted).await }
    };
    let remember = move |event: &AnyEvent| {
        let secret = event.object();
        if let (Event::Deleted { .. }, Some(account)) = (event, Account::named_by(secret)) {
            deleted.lock().insert(secret.key().clone(), account);
        }
        vec![request_of(secret)]
    };
    let secrets = manager
        .caches()
        .metadata(&ApiResource::erase::<Secret>(&()));
    let secrets_of = move |account: &StoredObject| {
        let secrets = secrets.indexer().snapshot();
        let naming = secrets.iter().filter(|secret| {
            let named = Account::named_by(secret);
            secret.namespace() == account.namespace()
                && named.is_some_and(|named| named.name == account.name())
        });
        naming.map(|secret| request_of(secret)).collect()
    };
    Controller::builder()
        .named(Name::ServiceAccountToken.as_str())
        .watch(
            // The server accepts no Secret of the type without the annotation.
            Watch::of::<Secret>(Handler::events(remember))
                .metadata_only()
                .predicate(Predicate::object(|s| Account::named_by(s).is_some())),
        )
        .watch(
            Watch::of::<ServiceAccount>(Handler::map_object(secrets_of))
                .metadata_only()
                .predicate(Predicate::events(|e| matches!(e, Event::Deleted { .. }))),
        )
        .build(manager, reconcile)?;
    Ok(())
}

impl Account {
    fn named_by(secret: &StoredObject) -> Option<Self> {
        let text = |annotation| secret.annotation(annotation).map(|text| text.into_owned());
        Self::new(text(NAME)?, text(UID))
    }

    fn of(secret: &Secret) -> Option<Self> {
        let annotations = secret.metadata.annotations.as_ref()?;
        Self::new(
            annotations.get(NAME)?.clone(),
            annotations.get(UID).cloned(),
        )
    }

    fn new(name: String, uid: Option<String>) -> Option<Self> {
        let uid = uid.filter(|uid| !uid.is_empty());
        (!name.is_empty()).then_some(Self { name, uid })
    }

    /// Returns whether it is this account. Without a uid, the name decides.
    fn is(&self, account: &ServiceAccount) -> bool {
        self.uid.is_none() || self.uid == account.metadata.uid
    }

    /// Reads the account from the server.
    async fn find(&self, context: &Context, request: &Request) -> Result<Option<ServiceAccount>> {
        let key = Key::new(request.namespace(), &self.name);
        let account: Option<ServiceAccount> = context.client().get_live(&key).await?;
        Ok(account.filter(|account| self.is(account)))
    }
}

async fn reconcile(
    context: &Context,
    request: &Request,
    contents: &Contents,
    deleted: &Deleted,
) -> Result<Action> {
    let secret: Option<Secret> = context.client().get_live(request.key()).await?;
    let Some(mut secret) = secret else {
        let account = deleted.lock().get(request.key()).cloned();
        if let Some(account) = account {
            remove_reference(context, request, &account).await?;
            deleted.lock().remove(request.key());
        }
        return Ok(Action::done());
    };
    deleted.lock().remove(request.key());
    let is_token = secret.type_.as_deref() == Some(TYPE);
    let Some(named) = Account::of(&secret).filter(|_| is_token) else {
        return Ok(Action::done());
    };
    let Some(account) = named.find(context, request).await? else {
        return match context.client().delete(&secret).await {
            Err(error) if error.is_conflict() => Ok(Action::done()),
            deleted => Ok(deleted.map(|_| Action::done())?),
        };
    };
    if !contents.fill(&mut secret, &account)? {
        return Ok(Action::done());
    }
    let namespace = request.namespace().unwrap_or_default();
    let secrets = context.client().api::<Secret>(namespace);
    let params = PostParams::default();
    match secrets.replace(request.name(), &params, &secret).await {
        // It has changed or is gone, which is an event of its own.
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(Action::done()),
        written => Ok(written.map(|_| Action::done())?),
    }
}

impl Contents {
    /// Adds missing data, and returns whether any was missing.
    fn fill(&self, secret: &mut Secret, account: &ServiceAccount) -> Result<bool> {
        let (name, account_name) = (secret.name_any(), account.name_any());
        let namespace = secret.namespace().unwrap_or_default();
        let uid = account.metadata.uid.clone().unwrap_or_default();
        let data: &mut BTreeMap<String, ByteString> = secret.data.get_or_insert_default();
        let lacks = |data: &BTreeMap<String, ByteString>, key: &str| {
            data.get(key).is_none_or(|value| value.0.is_empty())
        };
        let root_ca = ByteString(self.root_ca.as_bytes().to_vec());
        let needs_ca = !root_ca.0.is_empty() && data.get(ROOT_CA) != Some(&root_ca);
        let (needs_namespace, needs_token) = (lacks(data, NAMESPACE), lacks(data, TOKEN));
        if !needs_ca && !needs_namespace && !needs_token {
            return Ok(false);
        }
        if needs_ca {
            data.insert(ROOT_CA.to_owned(), root_ca);
        }
        if needs_namespace {
            let value = ByteString(namespace.clone().into_bytes());
            data.insert(NAMESPACE.to_owned(), value);
        }
        if needs_token {
            let claims = SecretTokenClaims {
                namespace: &namespace,
                account: &account_name,
                account_uid: &uid,
                secret: &name,
            };
            let token = self.generator.generate(&claims);
            let token = token.map_err(|error| Error::message(error.to_string()))?;
            data.insert(TOKEN.to_owned(), ByteString(token.into_bytes()));
        }
        let annotations = secret.metadata.annotations.get_or_insert_default();
        annotations.insert(NAME.to_owned(), account_name);
        annotations.insert(UID.to_owned(), uid);
        Ok(true)
    }
}

/// Removes the reference to a deleted Secret from the account that it named.
async fn remove_reference(context: &Context, request: &Request, named: &Account) -> Result<()> {
    let Some(mut account) = named.find(context, request).await? else {
        return Ok(());
    };
    let Some(secrets) = &mut account.secrets else {
        return Ok(());
    };
    let before = secrets.len();
    secrets.retain(|secret| secret.name.as_deref() != Some(request.name()));
    if secrets.len() == before {
        return Ok(());
    }
    match context.client().update(&account).await {
        Err(error) if error.is_not_found() => Ok(()),
        // A conflict is retried with the account as it is then.
        updated => Ok(updated.map(drop)?),
    }
}

fn request_of(object: &StoredObject) -> Request {
    Request::new(object.namespace().unwrap_or_default(), object.name())
}
