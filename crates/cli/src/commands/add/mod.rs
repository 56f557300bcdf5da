//! `kubewright create` and `kubewright add`: additions to a project.

mod api;
mod controller;
mod subresource;
mod target;
mod version;
mod webhook;

use clap::Subcommand;

/// The subcommands of `kubewright create`, as kubebuilder has them.
#[derive(Subcommand)]
pub(crate) enum Create {
    /// Scaffold a Kubernetes API: a kind and its controller
    Api(api::Api),

    /// Scaffold a subresource of a kind that the program serves itself
    Subresource(subresource::Subresource),

    /// Scaffold webhooks for a kind: defaulting, validation, conversion
    Webhook(webhook::Webhook),
}

#[derive(Subcommand)]
pub(crate) enum Add {
    /// Scaffold a Kubernetes API: a kind and its controller
    Api(api::Api),

    /// Scaffold a controller for an existing kind
    Controller(controller::Controller),

    /// Scaffold another version of a kind
    Version(version::Version),

    /// Scaffold a subresource of a kind that the program serves itself
    Subresource(subresource::Subresource),

    /// Scaffold webhooks for a kind: defaulting, validation, conversion
    Webhook(webhook::Webhook),
}

impl Create {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Api(api) => api.run(),
            Self::Subresource(subresource) => subresource.run(),
            Self::Webhook(webhook) => webhook.run(),
        }
    }
}

impl Add {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Api(api) => api.run(),
            Self::Controller(controller) => controller.run(),
            Self::Version(version) => version.run(),
            Self::Subresource(subresource) => subresource.run(),
            Self::Webhook(webhook) => webhook.run(),
        }
    }
}
