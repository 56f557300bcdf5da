//! `WorkflowTaskResult` of argoproj.io/v1alpha1, made by `kubewright import crd`.

#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_markdown, clippy::duplicated_attributes, clippy::doc_overindented_list_items, clippy::enum_variant_names, clippy::struct_excessive_bools, clippy::tabs_in_doc_comments)]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveNone {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tar {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    pub compression_level: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Archive {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ArchiveNone")]
    pub none: Option<ArchiveNone>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Tar")]
    pub tar: Option<Tar>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ArchiveNone")]
    pub zip: Option<ArchiveNone>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PodMetadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub annotations: Option<std::collections::BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub labels: Option<std::collections::BTreeMap<String, String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Strategy {
    #[serde(rename = "")]
    Empty,
    OnWorkflowCompletion,
    OnWorkflowDeletion,
    Never,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactGc {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PodMetadata")]
    pub pod_metadata: Option<PodMetadata>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub service_account_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Strategy")]
    pub strategy: Option<Strategy>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct PasswordSecret {
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("default" = ""))]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub optional: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifactory {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub password_secret: Option<PasswordSecret>,
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub username_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Azure {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub account_key_secret: Option<PasswordSecret>,
    pub blob: String,
    pub container: String,
    pub endpoint: String,
    #[serde(rename = "useSDKCreds", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub use_sdk_creds: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gcs {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub bucket: Option<String>,
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub service_account_key_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Git {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    pub depth: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub disable_submodules: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub fetch: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub insecure_ignore_host_key: Option<bool>,
    #[serde(rename = "insecureSkipTLS", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub insecure_skip_tls: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub password_secret: Option<PasswordSecret>,
    pub repo: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub revision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub single_branch: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub ssh_private_key_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub username_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hdfs {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub addresses: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub data_transfer_protection: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub force: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub hdfs_user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub krb_c_cache_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub krb_config_config_map: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub krb_keytab_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub krb_realm: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub krb_service_principal_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub krb_username: Option<String>,
    pub path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BasicAuth {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub password_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub username_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientCert {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub client_cert_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub client_key_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndpointParam {
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub value: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Oauth2 {
    #[serde(rename = "clientIDSecret", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub client_id_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub client_secret_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<EndpointParam>")]
    pub endpoint_params: Option<Vec<EndpointParam>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub scopes: Option<Vec<String>>,
    #[serde(rename = "tokenURLSecret", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub token_url_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Auth {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BasicAuth")]
    pub basic_auth: Option<BasicAuth>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ClientCert")]
    pub client_cert: Option<ClientCert>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Oauth2")]
    pub oauth2: Option<Oauth2>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Http {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Auth")]
    pub auth: Option<Auth>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Header>")]
    pub headers: Option<Vec<Header>>,
    pub url: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleRule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    pub mark_deletion_after_days: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    pub mark_infrequent_access_after_days: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Oss {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub access_key_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub bucket: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub create_bucket_if_not_present: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub endpoint: Option<String>,
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LifecycleRule")]
    pub lifecycle_rule: Option<LifecycleRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub secret_key_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub security_token: Option<String>,
    #[serde(rename = "useSDKCreds", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub use_sdk_creds: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Raw {
    pub data: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateBucketIfNotPresent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub object_locking: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EncryptionOptions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub enable_encryption: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub kms_encryption_context: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub kms_key_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub server_side_customer_key_secret: Option<PasswordSecret>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct S3 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub access_key_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub bucket: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub ca_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CreateBucketIfNotPresent")]
    pub create_bucket_if_not_present: Option<CreateBucketIfNotPresent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EncryptionOptions")]
    pub encryption_options: Option<EncryptionOptions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub endpoint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub insecure: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub region: Option<String>,
    #[serde(rename = "roleARN", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub role_arn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub secret_key_secret: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub session_token_secret: Option<PasswordSecret>,
    #[serde(rename = "useSDKCreds", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub use_sdk_creds: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Archive")]
    pub archive: Option<Archive>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub archive_logs: Option<bool>,
    #[serde(rename = "artifactGC", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ArtifactGc")]
    pub artifact_gc: Option<ArtifactGc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Artifactory")]
    pub artifactory: Option<Artifactory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Azure")]
    pub azure: Option<Azure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub deleted: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub from_expression: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Gcs")]
    pub gcs: Option<Gcs>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Git")]
    pub git: Option<Git>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub global_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Hdfs")]
    pub hdfs: Option<Hdfs>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Http")]
    pub http: Option<Http>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    pub mode: Option<i32>,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub optional: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Oss")]
    pub oss: Option<Oss>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Raw")]
    pub raw: Option<Raw>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub recurse_mode: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "S3")]
    pub s3: Option<S3>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub sub_path: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValueFrom {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PasswordSecret")]
    pub config_map_key_ref: Option<PasswordSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub default: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub event: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub expression: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub jq_filter: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub json_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub parameter: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ArchiveNone")]
    pub supplied: Option<ArchiveNone>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub default: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub r#enum: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub global_name: Option<String>,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ValueFrom")]
    pub value_from: Option<ValueFrom>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outputs {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Artifact>")]
    pub artifacts: Option<Vec<Artifact>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub exit_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Parameter>")]
    pub parameters: Option<Vec<Parameter>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub result: Option<String>,
}

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
pub struct WorkflowTaskResultSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Outputs")]
    pub outputs: Option<Outputs>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub phase: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub progress: Option<String>,
}
