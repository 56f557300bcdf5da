//! [`Draft`]: JSON to write as an object of a kind.

use std::{borrow::Cow, fmt, marker::PhantomData};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

/// JSON to write as a `K`. Of the response only the metadata is read.
pub(crate) struct Draft<K> {
    pub(crate) metadata: ObjectMeta,
    body: Value,
    kind: PhantomData<fn() -> K>,
}

impl<K: Resource<DynamicType = ()>> Draft<K> {
    /// Returns a draft of an object. The metadata only addresses the request.
    pub(crate) fn new(metadata: ObjectMeta, mut body: Value) -> Self {
        body["apiVersion"] = json!(K::api_version(&()));
        body["kind"] = json!(K::kind(&()));
        Self {
            metadata,
            body,
            kind: PhantomData,
        }
    }

    /// Takes the draft apart.
    pub(crate) fn into_parts(self) -> (ObjectMeta, Value) {
        (self.metadata, self.body)
    }
}

impl<K> Clone for Draft<K> {
    fn clone(&self) -> Self {
        Self {
            metadata: self.metadata.clone(),
            body: self.body.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Draft<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Draft").field(&self.body).finish()
    }
}

impl<K> Serialize for Draft<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.body.serialize(serializer)
    }
}

impl<'de, K> Deserialize<'de> for Draft<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Answer {
            metadata: ObjectMeta,
        }
        let answer = Answer::deserialize(deserializer)?;
        Ok(Self {
            metadata: answer.metadata,
            body: Value::Null,
            kind: PhantomData,
        })
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Draft<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
