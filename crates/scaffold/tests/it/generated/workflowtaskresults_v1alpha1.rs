//! `WorkflowTaskResult` of argoproj.io/v1alpha1, made by `kubewright import crd`.

#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_markdown, clippy::duplicated_attributes, clippy::doc_overindented_list_items, clippy::enum_variant_names, clippy::struct_excessive_bools, clippy::tabs_in_doc_comments)]

use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct ArchiveNone {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Tar {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression_level: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Archive {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none: Option<ArchiveNone>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tar: Option<Tar>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zip: Option<ArchiveNone>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct PodMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<std::collections::BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<std::collections::BTreeMap<String, String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum Strategy {
    #[serde(rename = "")]
    Empty,
    OnWorkflowCompletion,
    OnWorkflowDeletion,
    Never,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactGc {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_metadata: Option<PodMetadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[schema(map_type = "atomic")]
pub struct PasswordSecret {
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = "")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Artifactory {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_secret: Option<PasswordSecret>,
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Azure {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_key_secret: Option<PasswordSecret>,
    pub blob: String,
    pub container: String,
    pub endpoint: String,
    #[serde(rename = "useSDKCreds", skip_serializing_if = "Option::is_none")]
    pub use_sdk_creds: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Gcs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_key_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Git {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_submodules: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_ignore_host_key: Option<bool>,
    #[serde(rename = "insecureSkipTLS", skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_secret: Option<PasswordSecret>,
    pub repo: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single_branch: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_private_key_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Hdfs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_transfer_protection: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hdfs_user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub krb_c_cache_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub krb_config_config_map: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub krb_keytab_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub krb_realm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub krb_service_principal_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub krb_username: Option<String>,
    pub path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct BasicAuth {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct ClientCert {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cert_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct EndpointParam {
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Oauth2 {
    #[serde(rename = "clientIDSecret", skip_serializing_if = "Option::is_none")]
    pub client_id_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint_params: Option<Vec<EndpointParam>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    #[serde(rename = "tokenURLSecret", skip_serializing_if = "Option::is_none")]
    pub token_url_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Auth {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<BasicAuth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cert: Option<ClientCert>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth2: Option<Oauth2>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Header {
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Http {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Vec<Header>>,
    pub url: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_deletion_after_days: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_infrequent_access_after_days: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Oss {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_key_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_bucket_if_not_present: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle_rule: Option<LifecycleRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_token: Option<String>,
    #[serde(rename = "useSDKCreds", skip_serializing_if = "Option::is_none")]
    pub use_sdk_creds: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Raw {
    pub data: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct CreateBucketIfNotPresent {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_locking: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct EncryptionOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_encryption: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kms_encryption_context: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kms_key_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_side_customer_key_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct S3 {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_key_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_bucket_if_not_present: Option<CreateBucketIfNotPresent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption_options: Option<EncryptionOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(rename = "roleARN", skip_serializing_if = "Option::is_none")]
    pub role_arn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_secret: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_token_secret: Option<PasswordSecret>,
    #[serde(rename = "useSDKCreds", skip_serializing_if = "Option::is_none")]
    pub use_sdk_creds: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<Archive>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive_logs: Option<bool>,
    #[serde(rename = "artifactGC", skip_serializing_if = "Option::is_none")]
    pub artifact_gc: Option<ArtifactGc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifactory: Option<Artifactory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<Azure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_expression: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcs: Option<Gcs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hdfs: Option<Hdfs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<Http>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<i32>,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oss: Option<Oss>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recurse_mode: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_path: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct ValueFrom {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<PasswordSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jq_filter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supplied: Option<ArchiveNone>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#enum: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global_name: Option<String>,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<ValueFrom>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Outputs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<Parameter>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[kube(
    group = "argoproj.io",
    version = "v1alpha1",
    kind = "WorkflowTaskResult",
    plural = "workflowtaskresults",
    singular = "workflowtaskresult",
    namespaced,
    no_spec,
    derive = "PartialEq",
    derive = "Default",
)]
#[schema(extend("required" = ["metadata"]))]
pub struct WorkflowTaskResultFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Outputs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
}
