//! Services. Addresses and node ports are allocated by the server; [`allocation`] computes which are needed
//! and writes them into the service.

pub mod allocation;
mod cluster_ips;
mod default;
mod strategy;
mod validate;
mod warnings;

use crate::{KindRules, general};

pub use strategy::{needs_cluster_ip, needs_health_check_port, needs_node_port};

pub(crate) static RULES: KindRules = KindRules {
    default: default::service,
    prepare_create: general::drop_status,
    prepare_update: strategy::prepare_update,
    validate_create: validate::create,
    validate_update: validate::update,
    validate_status_update: validate::status,
    warnings_on_create: warnings::warnings,
    warnings_on_update: |new, _| warnings::warnings(new),
    allow_create_on_update: true,
    returns_deleted_object: true,
    needs_service_addresses: true,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};
