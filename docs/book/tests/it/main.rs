//! The operator of the tutorial and the API server of the chapter after it, compiled and tested as they stand in `tutorial/` and
//! `apiserver/`, where the pages take their code from. The modules here are those that `kubewright new` and `create api` would have made around it.

extern crate self as site_operator;
extern crate self as sky_server;

mod comparison;
mod limits;
mod pages;
#[path = "../../apiserver/src/apiserver/planet.rs"]
#[allow(unreachable_pub, reason = "in a project it is reached from `main.rs`")]
mod planet;
#[path = "../../apiserver/tests/planet_api.rs"]
mod planet_api_test;
#[path = "../../apiserver/src/api/sky/v1/planet.rs"]
mod planet_kind;
#[path = "../../apiserver/src/apiserver/planet_orbit.rs"]
#[allow(unreachable_pub, reason = "in a project it is reached from `main.rs`")]
mod planet_orbit;
#[path = "../../apiserver/tests/planet_orbit.rs"]
mod planet_orbit_test;
#[path = "../../tutorial/src/controller/site.rs"]
#[allow(unreachable_pub, reason = "in a project it is reached from `main.rs`")]
mod site_controller;
#[path = "../../tutorial/src/api/web/v2/site_from_v1.rs"]
pub mod site_from_v1;
#[path = "../../tutorial/src/api/web/v1/site.rs"]
#[allow(
    clippy::duplicated_attributes,
    reason = "two columns may have one type"
)]
mod site_kind;
#[path = "../../tutorial/src/api/web/v2/site.rs"]
mod site_kind_v2;
#[path = "../../tutorial/tests/site.rs"]
mod site_test;
#[path = "../../tutorial/tests/site_v1_v2.rs"]
mod site_versions_test;
#[path = "../../tutorial/tests/site_webhook.rs"]
mod site_webhook_test;
#[path = "../../tutorial/src/webhook/site.rs"]
pub mod site_webhooks;

pub mod api {
    //! The kinds, by group and version.

    pub mod sky {
        //! The group `sky.example.com`.

        pub mod v1 {
            //! Version `v1` of `sky.example.com`.

            pub use crate::planet_kind::{Planet, PlanetSpec, PlanetStatus};
        }
    }

    pub mod web {
        //! The group `web.example.com`.

        pub mod v1 {
            //! Version `v1` of `web.example.com`.

            pub use crate::site_kind::{Site, SiteSpec, SiteStatus};
        }

        pub mod v2 {
            //! Version `v2` of `web.example.com`.

            pub use crate::site_from_v1;
            pub use crate::site_kind_v2::{Site, SiteSpec, SiteStatus};
        }
    }
}

pub mod webhook {
    //! The webhooks.

    pub use crate::site_webhooks as site;
}

use kubewright::operator::Operator;

/// The registration of the tutorial's operator, and of the chapter's kind.
pub fn register(operator: &mut Operator) {
    operator.version(env!("CARGO_PKG_VERSION"));
    operator.api::<api::web::v1::Site>();
    operator.api::<api::web::v2::Site>();
    api::web::v2::site_from_v1::register(operator);
    site_controller::register(operator);
    webhook::site::register(operator);
    planet::register(operator);
}
