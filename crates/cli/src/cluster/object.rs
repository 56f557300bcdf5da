//! [`ObjectArgs`]: the arguments of commands about one object.

use clap::Args;
use kube::{Api, Client, core::DynamicObject};
use kubewright_ledger::ObjectRef;
use kubewright_scaffold::Error;

use crate::{
    cluster::{
        Cluster,
        kinds::{Kind, Kinds},
        refused,
    },
    project::session::or_session,
};

/// An object, and the cluster it is in.
#[derive(Args)]
pub(crate) struct ObjectArgs {
    /// Object, as kind/name
    object: String,

    /// Namespace of the object [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,

    #[command(flatten)]
    cluster: Cluster,
}

/// The position of an object: its kind, the API of that kind, and its name.
pub(crate) struct Located<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) api: Api<DynamicObject>,
    pub(crate) name: &'a str,
}

impl ObjectArgs {
    /// Connects to the cluster and discovers its kinds.
    pub(crate) async fn connect(&self) -> anyhow::Result<(Client, Kinds)> {
        self.parts()?;
        let client = or_session(&self.cluster).client().await?;
        let kinds = Kinds::of(&client).await?;
        Ok((client, kinds))
    }

    /// Finds the kind of the object among those of the cluster.
    pub(crate) fn locate<'a>(
        &'a self,
        client: &Client,
        kinds: &'a Kinds,
    ) -> Result<Located<'a>, Error> {
        let (word, name) = self.parts()?;
        let kind = kinds.find(word)?;
        let api = kind.api(client, self.namespace.as_deref());
        Ok(Located { kind, api, name })
    }

    /// Returns the object as the ledger names it.
    pub(crate) fn reference(&self, client: &Client, kind: &Kind) -> Result<ObjectRef, Error> {
        let (_, name) = self.parts()?;
        let namespace = match kind.namespaced {
            true => self
                .namespace
                .as_deref()
                .unwrap_or(client.default_namespace()),
            false => "",
        };
        Ok(ObjectRef {
            group: kind.resource.group.clone(),
            resource: kind.resource.plural.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Returns the object that a request found, or the error that says what to do.
    pub(crate) fn found<T>(&self, answer: kube::Result<Option<T>>) -> Result<T, Error> {
        let found = answer.map_err(|e| refused(format_args!("get {}", self.object), &e))?;
        found.ok_or_else(|| {
            Error::new(
                format_args!("{} not found", self.object),
                "check the name and --namespace",
            )
        })
    }

    /// Splits `captain/first` into its parts.
    fn parts(&self) -> Result<(&str, &str), Error> {
        match self.object.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok((kind, name))
            }
            _ => Err(Error::new(
                format_args!("{:?} is not an object reference", self.object),
                "use kind/name, e.g. captain/first",
            )),
        }
    }
}
