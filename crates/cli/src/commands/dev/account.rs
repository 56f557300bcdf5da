//! [`Account`]: the operator's own ServiceAccount on the local cluster, with the roles that `generate` writes.

use std::{ffi::OsString, fs, path::PathBuf, time::Duration};

use kube::{Client, ResourceExt, core::DynamicObject};
use kubewright_cluster::{AccessLog, ClusterUser};
use kubewright_operator::Model;
use kubewright_scaffold::{
    Error, Project,
    generate::{Settings, Target, render},
};

use crate::{
    cluster::{
        apply::{Applier, Outcome, Report},
        local::LocalCluster,
        manifest,
    },
    project::{permissions, session::Session},
};

/// The kinds that give an operator its permissions.
const KINDS: [&str; 6] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "Namespace",
    "Role",
    "RoleBinding",
    "ServiceAccount",
];

/// The account that the operator runs as.
pub(super) struct Account<'a> {
    project: &'a Project,
    local: &'a LocalCluster,
    log: AccessLog,
    user: Option<ClusterUser>,
    /// The rules that were applied last.
    applied: Option<Vec<DynamicObject>>,
}

impl<'a> Account<'a> {
    pub(super) fn new(project: &'a Project, local: &'a LocalCluster, log: AccessLog) -> Self {
        Self {
            project,
            local,
            log,
            user: None,
            applied: None,
        }
    }

    /// Applies the roles of an operator, and returns what changed.
    pub(super) async fn apply(
        &mut self,
        model: &Model,
        client: Client,
        timeout: Duration,
    ) -> Result<Vec<Outcome>, Error> {
        let objects = permissions_of(self.project, model)?;
        if self.applied.as_ref() == Some(&objects) {
            return Ok(Vec::new());
        }
        let report = Report::silent();
        let mut applier = Applier::new(client, &model.name, timeout, &report);
        let outcomes = applier.apply(objects.clone()).await?;
        if self.user.is_none() {
            self.user = Some(self.identify(&objects).await?);
        }
        self.applied = Some(objects);
        Ok(outcomes)
    }

    /// Returns the user of the ServiceAccount, after writing a kubeconfig with its token.
    async fn identify(&self, objects: &[DynamicObject]) -> Result<ClusterUser, Error> {
        let account = objects.iter().find(|object| is(object, "ServiceAccount"));
        let user = account.map(|account| {
            let namespace = account.namespace().unwrap_or_default();
            format!("system:serviceaccount:{namespace}:{}", account.name_any())
        });
        let hint = "check the name of the project";
        let user: ClusterUser = user
            .unwrap_or_default()
            .parse()
            .map_err(|e| Error::new(e, hint))?;
        let path = self.kubeconfig();
        let written = self.local.write_kubeconfig_of(&user, &path).await;
        written.map_err(|e| Error::new(e, "save a file to try again"))?;
        Ok(user)
    }

    fn kubeconfig(&self) -> PathBuf {
        Session::directory(self.project.root()).join("operator.kubeconfig")
    }

    /// Returns the flags by which the operator reaches the cluster as itself.
    pub(super) fn flags(&self) -> Vec<OsString> {
        let mut flags = vec!["--kubeconfig".into(), self.kubeconfig().into_os_string()];
        let home = self.user.as_ref().and_then(ClusterUser::service_account);
        if let Some((namespace, _)) = home {
            flags.extend(["--leader-election-namespace".into(), namespace.into()]);
        }
        flags
    }

    /// Returns the name of the user.
    pub(super) fn user(&self) -> Option<&str> {
        self.user.as_ref().map(ClusterUser::name)
    }

    /// Writes the permissions that the operator has needed so far, for `kubewright audit rbac`.
    pub(super) fn record(&self) -> Result<(), Error> {
        let user = self.user().unwrap_or_default();
        let all = self.log.all().into_iter();
        let own: Vec<_> = all.filter(|access| access.user == user).collect();
        permissions::write(self.project.root(), "dev", &own)
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        // The server that its token is for is gone.
        let _ = fs::remove_file(self.kubeconfig());
    }
}

/// Returns the objects that give an operator its permissions in a cluster.
fn permissions_of(project: &Project, model: &Model) -> Result<Vec<DynamicObject>, Error> {
    let files = render(model, &Settings::of(project, model), &[Target::Yaml])?;
    let mut objects = Vec::new();
    for file in files {
        objects.extend(manifest::parsed(&file.text, &file.path)?);
    }
    objects.retain(|object| KINDS.iter().any(|kind| is(object, kind)));
    Ok(objects)
}

fn is(object: &DynamicObject, kind: &str) -> bool {
    let types = object.types.as_ref();
    types.is_some_and(|types| types.kind == kind)
}
