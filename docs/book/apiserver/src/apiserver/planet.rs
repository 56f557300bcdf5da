//! The planets, which this program computes.

use kubewright::extension_apiserver::{Kind, ListQuery, Listing, Storage, Verbs, async_trait};
use kubewright::machinery::Status;
use kubewright::operator::Operator;

use crate::api::sky::v1::{Planet, PlanetSpec, PlanetStatus};

/// Registers the kind, with its subresources.
pub fn register(operator: &mut Operator) {
    let kind = Kind::computed(PlanetStorage);
    let kind = kind.log("orbit", super::planet_orbit::PlanetOrbit);
    operator.aggregated_api(kind);
}

/// Name, orbital period in days, number of moons, visibility.
const PLANETS: [(&str, u32, u32, bool); 4] = [
    ("earth", 365, 1, true),
    ("mars", 687, 2, true),
    ("neptune", 60_190, 14, false),
    ("venus", 225, 0, true),
];

/// Computes planets on request.
pub struct PlanetStorage;

fn planet((name, year_in_days, moons, visible): (&str, u32, u32, bool)) -> Planet {
    let spec = PlanetSpec {
        year_in_days,
        moons,
    };
    let mut planet = Planet::new(name, spec);
    planet.status = Some(PlanetStatus { visible });
    planet
}

#[async_trait]
impl Storage<Planet> for PlanetStorage {
    fn verbs(&self) -> Verbs {
        Verbs::READ
    }

    async fn get(&self, _namespace: &str, name: &str) -> Result<Option<Planet>, Status> {
        let found = PLANETS.into_iter().find(|(known, ..)| *known == name);
        Ok(found.map(planet))
    }

    async fn list(&self, _query: &ListQuery) -> Result<Listing<Planet>, Status> {
        Ok(Listing::new(PLANETS.map(planet).to_vec()))
    }
}
