//! `create`: reserve, prepare, validate, admit, encode, commit.

use kubewright_derive::boxed_async;
use kubewright_ledger::Change;
use kubewright_machinery::{
    Status,
    status::{self, Reason},
};
use kubewright_store::{Entry, WriteError};
use serde_json::Value;

use super::{
    Generic,
    metadata::{is_deleting, text},
};
use crate::{
    admission::Attributes,
    auth,
    ledger::committed,
    object::Object,
    registry::{Draft, traits::Create},
    request::{RequestContext, WriteOptions},
};

/// The kind of request that a new object comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Create,
    /// An update or an apply, which takes the permission to create too.
    Update,
}

/// Maximum attempts to find a generated name that is free.
const NAME_ATTEMPTS: usize = 8;

#[boxed_async]
impl Create for Generic {
    async fn create(
        &self,
        cx: &RequestContext,
        _name: &str,
        draft: Draft,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        let generated =
            text(&draft.value, "name").is_empty() && !text(&draft.value, "generateName").is_empty();
        for _ in 1..if generated { NAME_ATTEMPTS } else { 1 } {
            match self
                .create_new(cx, draft.clone(), options, Origin::Create, false)
                .await
            {
                Err(e) if e.reason == Reason::AlreadyExists => {}
                other => return other,
            }
        }
        self.create_new(cx, draft, options, Origin::Create, false)
            .await
    }
}

impl Generic {
    /// Takes a new object to the store. `prune` removes unknown fields once it is valid.
    pub(super) async fn create_new(
        &self,
        cx: &RequestContext,
        mut draft: Draft,
        options: &WriteOptions,
        origin: Origin,
        prune: bool,
    ) -> Result<Object, Status> {
        let (object, strategy, dry_run) = (&mut draft.value, &self.strategy, options.dry_run);
        strategy.authorize(cx, object, None).await?;
        self.fill_system_fields(object);
        self.generate_name(object);
        // A name that a client or a webhook chose counts as generated too.
        let generated = !text(object, "generateName").is_empty();
        let reservation = strategy.reserve(cx, object, None, dry_run).await?;
        self.check_namespace(cx, object)?;
        strategy.prepare_for_create(cx, object);
        self.reject_invalid(object, &self.validate_create(cx, object).await?)?;
        self.reject_invalid(object, &strategy.validate_access(cx, object, None).await)?;
        cx.warnings.extend(strategy.warnings_on_create(object));
        strategy.canonicalize(object);
        if origin == Origin::Update {
            authorize_creation(cx).await?;
        }
        let name = match draft.given_name.as_str() {
            "" => text(object, "name"),
            given => given,
        };
        let attributes = Attributes::create(name, options);
        let attributes = attributes.with_managed(draft.managed.as_ref());
        cx.admission.validate(cx, &attributes, Some(object)).await?;
        if prune {
            strategy.prune(object);
        }
        // Only the store checks it, which a dry run does not reach.
        if !dry_run && !text(object, "resourceVersion").is_empty() {
            return Err(status::unknown(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        strategy.default_on_create(object)?;
        draft.value = self.normalize(draft.value)?;
        let created = self.commit_new(cx, draft, dry_run, generated).await?;
        if let Some(reservation) = reservation.filter(|_| !dry_run) {
            reservation.keep();
        }
        Ok(created)
    }

    /// Encodes and commits a new object, or checks that its name is free if it is a dry run.
    async fn commit_new(
        &self,
        cx: &RequestContext,
        draft: Draft,
        dry_run: bool,
        generated: bool,
    ) -> Result<Object, Status> {
        let name = text(&draft.value, "name").to_owned();
        let key = self.key(cx.namespace(), &name);
        if dry_run {
            let existing = self
                .store
                .get(&key)
                .await
                .map_err(|e| Self::read_failure(&e))?;
            if let Some(existing) = existing {
                return Err(self.already_exists(&name, &existing, generated));
            }
            return self.as_if_stored(draft).await;
        }
        match self.store.create(key, self.encode(&draft).await?).await {
            // The stored object may have fewer fields than the one that was sent, in another version.
            Ok(entry) => {
                committed(&self.spec, Change::Created, &entry);
                self.object(&entry).await
            }
            Err(WriteError::Exists(existing)) => {
                Err(self.already_exists(&name, &existing, generated))
            }
            Err(e) => Err(Self::store_failure(&e)),
        }
    }

    /// Returns the error for a name that is taken, perhaps by an object that is being deleted.
    fn already_exists(&self, name: &str, existing: &Entry, generated: bool) -> Status {
        let mut error = match generated {
            true => status::generate_name_conflict(&self.resource, name),
            false => status::already_exists(&self.resource, name),
        };
        let existing: Value = serde_json::from_slice(&existing.bytes).unwrap_or_default();
        if is_deleting(&existing) {
            error.message = format!("object is being deleted: {}", error.message);
        }
        error
    }
}

/// Checks that the user may create the object that an update or an apply would create.
async fn authorize_creation(cx: &RequestContext) -> Result<(), Status> {
    let attributes = auth::Attributes::of_request(&cx.user, &cx.info, &cx.query);
    let attributes = attributes.with_verb("create");
    let decision = cx.authorize(&attributes).await;
    match decision.error {
        _ if decision.is_allow() => Ok(()),
        Some(error) => Err(status::internal(error)),
        None => Err(auth::forbidden(&attributes, &decision.reason)),
    }
}
