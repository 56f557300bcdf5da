//! The validator gives the same answers as the server: for generated objects, valid and invalid, new and changed, and for
//! objects that were stored under a less strict schema.
//!
//! The comparison covers the decision, the message, every cause with its field, reason and message, and the stored form of
//! accepted objects. With `KUBEWRIGHT_TEST_KUBECONFIG` a real server is compared too.

mod place;

use std::rc::Rc;

use http::Method;
use kubewright::{
    CustomKind,
    generate::{Generator, Rng, Size, mutate},
};
use kubewright_machinery::Status;
use serde_json::{Value, json};
use tokio::task::LocalSet;

use crate::{
    captain::Captain,
    golden::kinds::{
        choices::Choices, defaults::Defaults, lists::Lists, merges::Merges, names::Names,
        numbers::Numbers, objects::Objects, places::Places, rules::Rules, texts::Texts,
    },
};
use place::Place;

/// Returns the number of objects tried per kind: 40, or `KUBEWRIGHT_TEST_CASES`.
fn cases() -> u64 {
    let wanted = std::env::var("KUBEWRIGHT_TEST_CASES").ok();
    wanted.and_then(|n| n.parse().ok()).unwrap_or(40)
}

/// The number of comparisons, and of rejections by the server.
#[derive(Debug, Default)]
struct Tally {
    taken: usize,
    refused: usize,
    /// Refused for several causes.
    several: usize,
    /// Taken though they are wrong, as they were wrong before.
    forgiven: usize,
}

impl Tally {
    /// Both say the same.
    #[track_caller]
    fn compare(
        &mut self,
        place: &Place,
        ours: &Result<Value, Status>,
        theirs: &Result<Value, Status>,
        case: impl std::fmt::Display,
    ) {
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                self.taken += 1;
                assert_eq!(ours["spec"], theirs["spec"], "as it is stored: {case}");
                assert_eq!(ours["status"], theirs["status"], "as it is stored: {case}");
            }
            (Err(ours), Err(theirs)) => {
                self.refused += 1;
                let (ours, theirs) = (causes(ours), causes(theirs));
                self.several += usize::from(theirs.1.len() > 1);
                match place.real {
                    true => assert_eq!(sorted(ours), sorted(theirs), "{case}"),
                    false => assert_eq!(ours, theirs, "{case}"),
                }
            }
            (Ok(_), Err(theirs)) => panic!("only the server refuses: {}: {case}", theirs.message),
            (Err(ours), Ok(_)) => panic!("only the validator rejects: {}: {case}", ours.message),
        }
    }
}

/// The texts of a rejection: of the whole, and of each cause.
type Said = (Value, Vec<(String, String, String)>);

fn causes(status: &Status) -> Said {
    let details = status.details.clone().unwrap_or_default();
    let causes = details.causes.iter();
    let causes = causes.map(|c| (c.field.clone(), c.reason.clone(), c.message.clone()));
    let whole = json!({
        "code": status.code, "reason": status.reason, "message": status.message,
        "name": details.name, "group": details.group, "kind": details.kind,
    });
    (whole, causes.collect())
}

/// The causes in one order; then so is the message, which has them all, and its beginning says the rest.
fn sorted((mut whole, mut causes): Said) -> Said {
    causes.sort();
    if causes.len() > 1 {
        let message = whole["message"].as_str().unwrap_or_default();
        let begin = message.split_once('[').map_or(message, |(begin, _)| begin);
        whole["message"] = json!(begin);
    }
    (whole, causes)
}

/// The definition without anything that refuses an object.
fn lax(definition: &Value) -> Value {
    let mut lax = definition.clone();
    let version = &mut lax["spec"]["versions"][0];
    version["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    if let Some(version) = version.as_object_mut() {
        version.remove("selectableFields");
    }
    lax
}

/// An object that fits its types and bounds, but its rules only by chance: somewhere, where there are rules.
fn breaking_rules(generator: &Generator<'_>, object: &Value, rng: &mut Rng) -> Option<Value> {
    let ruled = [
        "x-kubernetes-validations",
        "anyOf",
        "oneOf",
        "not",
        "pattern",
        "format",
    ];
    let paths: Vec<_> = generator
        .paths()
        .into_iter()
        .filter(|path| !path.steps.is_empty())
        .filter(|path| ruled.iter().any(|key| path.schema.get(key).is_some()))
        .collect();
    let path = rng.pick(&paths)?;
    let mut object = object.clone();
    let pointer = generator.fill(&mut object, path, rng)?;
    *object.pointer_mut(&pointer)? = generator.sample_ignoring_rules(path, Size::Any, rng)?;
    Some(object)
}

/// Compares the answers of a server and of the validator for new and changed objects.
async fn agrees<K: CustomKind>(place: &Place, tally: &mut Tally) {
    let validator = K::validator();
    let generator = Generator::of::<K>();
    let has_status =
        !K::manifest().unwrap()["spec"]["versions"][0]["subresources"]["status"].is_null();
    let create = format!("{}?dryRun=All", place.path);
    for seed in 0..cases() {
        let mut rng = Rng::new(seed);
        let mut object = generator.object(&mut rng).expect("there are valid ones");
        let name = format!("object-{seed}");
        object["metadata"]["name"] = json!(name);

        let mut wrong = object.clone();
        for _ in 0..=rng.below(3) {
            mutate(&mut wrong, &mut rng);
        }
        for new in [Some(wrong), breaking_rules(&generator, &object, &mut rng)]
            .into_iter()
            .flatten()
        {
            let theirs = place.send(Method::POST, &create, &new).await;
            let ours = validator.create(&new);
            tally.compare(
                place,
                &ours,
                &theirs,
                format_args!("create, seed {seed}: {new}"),
            );
        }

        let stored = place.send(Method::POST, &place.path, &object).await;
        tally.compare(
            place,
            &validator.create(&object),
            &stored,
            format_args!("valid, seed {seed}: {object}"),
        );
        let stored = stored.expect("both take it");
        let own = format!("{}/{name}", place.path);
        let update = format!("{own}?dryRun=All");
        let other = generator.object(&mut rng).expect("there are valid ones");
        let mut mutated = stored.clone();
        mutate(&mut mutated, &mut rng);
        let mut both = other.clone();
        mutate(&mut both, &mut rng);
        let changes = [
            Some(other),
            Some(mutated),
            Some(both),
            breaking_rules(&generator, &stored, &mut rng),
        ];
        for mut changed in changes.into_iter().flatten() {
            changed["metadata"] = stored["metadata"].clone();
            let theirs = place.send(Method::PUT, &update, &changed).await;
            let ours = validator.update(&changed, &stored);
            tally.compare(
                place,
                &ours,
                &theirs,
                format_args!("update, seed {seed}: {changed} for {stored}"),
            );
        }
        if has_status {
            let mut changed = stored.clone();
            changed["status"] = object["status"].clone();
            mutate(&mut changed, &mut rng);
            let update = format!("{own}/status?dryRun=All");
            let theirs = place.send(Method::PUT, &update, &changed).await;
            let ours = validator.update_status(&changed, &stored);
            tally.compare(
                place,
                &ours,
                &theirs,
                format_args!("status, seed {seed}: {changed}"),
            );
        }
    }
}

/// Stores objects that are wrong while the definition asks for nothing, and changes them when it does.
async fn forgives<K: CustomKind>(place: &Place, tally: &mut Tally) {
    let validator = K::validator();
    let generator = Generator::of::<K>();
    let mut names = Vec::new();
    let mut probe = None;
    for seed in 0..cases() {
        let mut rng = Rng::new(seed.wrapping_add(1000));
        let mut object = generator.object(&mut rng).expect("there are valid ones");
        for _ in 0..=rng.below(3) {
            mutate(&mut object, &mut rng);
        }
        if let Some(mut other) =
            breaking_rules(&generator, &object, &mut rng).filter(|_| rng.one_in(2))
        {
            std::mem::swap(&mut object, &mut other);
        }
        let name = format!("old-{seed}");
        object["metadata"]["name"] = json!(name);
        if validator.create(&object).is_ok() {
            continue;
        }
        // Whatever is no object at all is refused by any definition.
        if place.send(Method::POST, &place.path, &object).await.is_ok() {
            names.push((name, seed));
            object["metadata"]["name"] = json!("probe");
            probe = Some(object);
        }
    }
    let probe = probe.expect("some are wrong, and were taken");
    place.redefine(&K::manifest().unwrap(), &probe).await;
    for (name, seed) in names {
        let mut rng = Rng::new(seed.wrapping_add(2000));
        let own = format!("{}/{name}", place.path);
        // What cannot be read any more cannot be changed either.
        let Ok(stored) = place.get(&own).await else {
            continue;
        };
        let mut labelled = stored.clone();
        labelled["metadata"]["labels"] = json!({"a": "b"});
        let mut mutated = stored.clone();
        mutate(&mut mutated, &mut rng);
        let valid = generator.object(&mut rng).expect("there are valid ones");
        for (n, mut changed) in [labelled, mutated, valid].into_iter().enumerate() {
            let labels = changed["metadata"]["labels"].take();
            changed["metadata"] = stored["metadata"].clone();
            changed["metadata"]["labels"] = labels;
            let theirs = place
                .send(Method::PUT, &format!("{own}?dryRun=All"), &changed)
                .await;
            let ours = validator.update(&changed, &stored);
            tally.compare(
                place,
                &ours,
                &theirs,
                format_args!("ratchet {n}, seed {seed}: {changed} for {stored}"),
            );
            changed["metadata"] = json!({"name": name});
            let forgiven = theirs.is_ok() && validator.create(&changed).is_err();
            tally.forgiven += usize::from(forgiven);
        }
    }
}

/// Compares the validator with the servers for one kind.
async fn compared<K: CustomKind>() {
    let (strict, lax) = (K::manifest().unwrap(), lax(&K::manifest().unwrap()));
    let mut tally = Tally::default();
    agrees::<K>(&Place::embedded::<K>(&strict).await, &mut tally).await;
    forgives::<K>(&Place::embedded::<K>(&lax).await, &mut tally).await;
    println!("{}, embedded: {tally:?}", K::kind(&()));
    assert!(
        tally.refused > 0,
        "nothing was refused, so nothing was compared"
    );
    assert!(tally.several > 0, "nothing had several causes");
    assert!(
        tally.taken > 0,
        "nothing was taken, so nothing was compared"
    );
    assert!(tally.forgiven > 0, "nothing was forgiven");
    if let Some(place) = Place::real::<K>(&lax).await {
        let place = Rc::new(place);
        let there = Rc::clone(&place);
        let local = LocalSet::new();
        let asked = local.spawn_local(async move {
            let mut tally = Tally::default();
            // One after the other: both are the same definition to the server.
            forgives::<K>(&there, &mut tally).await;
            agrees::<K>(&there, &mut tally).await;
            println!("{}, real: {tally:?}", K::kind(&()));
        });
        let outcome = local.run_until(asked).await;
        place.leave().await;
        if let Err(failed) = outcome {
            std::panic::resume_unwind(failed.into_panic());
        }
    }
}

macro_rules! agreements {
    ($($test:ident: $kind:ty;)+) => {$(
        #[tokio::test]
        async fn $test() {
            compared::<$kind>().await;
        }
    )+};
}

agreements! {
    captains_are_validated_as_by_the_server: Captain;
    numbers_are_validated_as_by_the_server: Numbers;
    texts_are_validated_as_by_the_server: Texts;
    lists_are_validated_as_by_the_server: Lists;
    defaults_are_validated_as_by_the_server: Defaults;
    rules_are_validated_as_by_the_server: Rules;
    choices_are_validated_as_by_the_server: Choices;
    objects_are_validated_as_by_the_server: Objects;
    scaled_kinds_are_validated_as_by_the_server: Names;
    attributes_on_all_types_are_validated_as_by_the_server: Places;
    merged_things_are_validated_as_by_the_server: Merges;
}
