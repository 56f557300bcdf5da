//! `create`.

use async_trait::async_trait;
use kubewright_machinery::{
    Status,
    status::{self, Reason},
};
use kubewright_store::WriteError;
use serde_json::Value;

use super::{
    Generic,
    metadata::{is_deleting, text},
};
use crate::{
    admission::{Attributes, Operation},
    object::Object,
    registry::traits::Create,
    request::{RequestContext, WriteOptions},
};

/// How often a taken generated name is replaced by another.
const NAME_ATTEMPTS: usize = 8;

#[async_trait]
impl Create for Generic {
    async fn create(
        &self,
        cx: &RequestContext,
        _name: &str,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        let generated =
            text(&object, "name").is_empty() && !text(&object, "generateName").is_empty();
        for _ in 1..if generated { NAME_ATTEMPTS } else { 1 } {
            match self.create_once(cx, object.clone(), options).await {
                Err(e) if e.reason == Reason::AlreadyExists => {}
                other => return other,
            }
        }
        self.create_once(cx, object, options).await
    }
}

impl Generic {
    async fn create_once(
        &self,
        cx: &RequestContext,
        mut object: Value,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        self.fill_system_fields(&mut object);
        let generated = self.generate_name(&mut object);
        let reservation = self
            .strategy
            .begin_write(cx, &mut object, None, options.dry_run)
            .await?;
        self.before_create(cx, &mut object)?;
        self.admit(cx, Operation::Create, &object, None, options.dry_run)
            .await?;
        let entry = self
            .store_new(cx, object, options.dry_run, generated)
            .await?;
        if let Some(reservation) = reservation.filter(|_| !options.dry_run) {
            reservation.keep();
        }
        Ok(entry)
    }

    /// Commits a prepared object.
    pub(super) async fn store_new(
        &self,
        cx: &RequestContext,
        mut object: Value,
        dry_run: bool,
        generated: bool,
    ) -> Result<Object, Status> {
        let name = text(&object, "name").to_owned();
        // Only the store minds, and a dry run does not get there.
        if !dry_run && !text(&object, "resourceVersion").is_empty() {
            return Err(status::unknown(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        self.strategy.complete_new(&mut object);
        let object = self.normalize(object)?;
        let key = self.key(cx.namespace(), &name);
        if dry_run {
            let existing = self
                .store
                .get(&key)
                .await
                .map_err(|e| Self::read_failure(&e))?;
            if let Some(existing) = existing {
                return Err(self.taken(&name, &existing, generated));
            }
            return self.as_if_stored(object).await;
        }
        match self.store.create(key, self.encode(&object).await?).await {
            // What is stored may be less than what was sent, in another version.
            Ok(entry) => self.object(&entry).await,
            Err(WriteError::Exists(existing)) => Err(self.taken(&name, &existing, generated)),
            Err(e) => Err(Self::store_failure(&e)),
        }
    }

    /// The name is taken, perhaps by an object that is on its way out.
    fn taken(&self, name: &str, existing: &kubewright_store::Entry, generated: bool) -> Status {
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

    pub(super) async fn admit(
        &self,
        cx: &RequestContext,
        operation: Operation,
        object: &Value,
        old: Option<&Value>,
        dry_run: bool,
    ) -> Result<(), Status> {
        let attributes = Attributes {
            operation,
            name: text(object, "name"),
            old,
            dry_run,
        };
        cx.admission.validate(cx, &attributes, Some(object)).await
    }
}
