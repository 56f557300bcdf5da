//! Programs under perturbations: a sound one survives all of them, and each unsound one fails under its own.

mod sound;
mod unsound;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kubewright_testing::World;
use serde_json::json;

fn map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map
}

fn maps(world: &World) -> Api<ConfigMap> {
    Api::default_namespaced(world.client())
}

async fn create(world: &World, name: &str) {
    let created = maps(world).create(&PostParams::default(), &map(name)).await;
    created.unwrap();
}

async fn put(world: &World, name: &str, key: &str, value: &str) {
    let patch = Patch::Merge(json!({"data": {key: value}}));
    let patched = maps(world)
        .patch(name, &PatchParams::default(), &patch)
        .await;
    patched.unwrap();
}

async fn delete(world: &World, name: &str) {
    let deleted = maps(world).delete(name, &DeleteParams::default()).await;
    deleted.unwrap();
}

/// Accepts that the object does not exist.
fn ignore_missing<T>(result: Result<T, kube::Error>) -> Result<(), kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}

/// Creates objects, changes them twice, and removes one of them.
async fn come_and_go(world: World) {
    create(&world, "apples").await;
    create(&world, "pears").await;
    world.pause().await;
    put(&world, "apples", "count", "1").await;
    world.pause().await;
    put(&world, "apples", "count", "2").await;
    delete(&world, "pears").await;
    world.pause().await;
    put(&world, "apples", "colour", "red").await;
}
