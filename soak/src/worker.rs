//! Workers write objects, and know what the server must hold.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use kube::{
    Api, Client, Config, Error,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::DynamicObject,
};
use serde_json::json;
use tokio::{sync::watch, time::sleep};

use crate::{
    Kinds,
    kinds::{self, Kind, Numbers, WORKER},
    tally::{Operation, Tally},
};

/// The number of objects of each kind that a worker keeps.
const OBJECTS: usize = 40;

/// One operation of this many is cut off in the middle.
const CUT_OFF: u32 = 60;

/// The number of operations after which a worker drops its connections.
const CONNECTION_LIFE: u32 = 500;

/// The time after which a request that was cut off has certainly ended on the server.
const SURELY_OVER: Duration = Duration::from_secs(10);

/// A worker with its model.
pub(crate) struct Worker {
    number: u32,
    client: Client,
    models: Vec<Model>,
    tally: Arc<Tally>,
    created: u64,
}

/// The objects of one kind that the server must hold.
struct Model {
    kind: Arc<Kind>,
    numbers: Numbers,
    /// The objects whose last request was cut off: whether it had an effect is not known. They are deleted later.
    uncertain: VecDeque<(Instant, String)>,
}

/// The outcome of a request.
enum Outcome {
    Done,
    /// The request was cut off before its response.
    Unknown,
}

impl Worker {
    pub(crate) fn new(number: u32, client: Client, kinds: &Kinds, tally: Arc<Tally>) -> Self {
        let model = |kind: &Arc<Kind>| Model {
            kind: kind.clone(),
            numbers: Numbers::new(),
            uncertain: VecDeque::new(),
        };
        Self {
            number,
            client,
            models: kinds.iter().map(model).collect(),
            tally,
            created: 0,
        }
    }

    /// Works until it is stopped, and returns what the server must hold.
    pub(crate) async fn run(
        mut self,
        config: Config,
        pause: Duration,
        stopped: watch::Receiver<bool>,
    ) -> anyhow::Result<Vec<(Arc<Kind>, Numbers)>> {
        let mut operations = 0_u32;
        while !*stopped.borrow() {
            operations = operations.wrapping_add(1);
            if operations.is_multiple_of(CONNECTION_LIFE) {
                self.client = Client::try_from(config.clone())?;
                self.tally.count(Operation::Reconnect);
            }
            let kind = rand::random_range(0..self.models.len());
            self.step(kind).await;
            sleep(pause).await;
        }
        sleep(SURELY_OVER).await;
        for kind in 0..self.models.len() {
            while let Some((_, name)) = self.models[kind].uncertain.pop_front() {
                self.delete_uncertain(kind, &name).await;
            }
        }
        let expected = self.models.into_iter();
        Ok(expected.map(|model| (model.kind, model.numbers)).collect())
    }

    /// Does one operation.
    async fn step(&mut self, kind: usize) {
        let model = &mut self.models[kind];
        let api = model.kind.api(self.client.clone());
        let over = model.uncertain.front();
        if over.is_some_and(|(since, _)| since.elapsed() > SURELY_OVER)
            && let Some((_, name)) = model.uncertain.pop_front()
        {
            return self.delete_uncertain(kind, &name).await;
        }
        if model.numbers.len() < OBJECTS {
            return self.create(kind, &api).await;
        }
        let at = rand::random_range(0..model.numbers.len());
        let Some((name, number)) = model.numbers.iter().nth(at) else {
            return;
        };
        let (name, next) = (name.clone(), number + 1);
        let operation = match rand::random_range(0..100) {
            0..30 => Operation::Update,
            30..55 => Operation::Patch,
            55..80 => Operation::Apply,
            80..95 => Operation::Delete,
            _ => return self.list(kind, &api).await,
        };
        let outcome = self.write(kind, &api, operation, &name, next).await;
        let model = &mut self.models[kind];
        match (outcome, operation) {
            (Some(Outcome::Done), Operation::Delete) => {
                model.numbers.remove(&name);
            }
            (Some(Outcome::Done), _) => {
                model.numbers.insert(name, next);
            }
            (Some(Outcome::Unknown), _) => {
                model.numbers.remove(&name);
                model.uncertain.push_back((Instant::now(), name));
            }
            // The error was counted.
            (None, _) => {}
        }
    }

    async fn create(&mut self, kind: usize, api: &Api<DynamicObject>) {
        self.created += 1;
        let name = format!("soak-{}-{}", self.number, self.created);
        let outcome = self.write(kind, api, Operation::Create, &name, 1).await;
        let model = &mut self.models[kind];
        match outcome {
            Some(Outcome::Done) => {
                model.numbers.insert(name, 1);
            }
            Some(Outcome::Unknown) => model.uncertain.push_back((Instant::now(), name)),
            None => {}
        }
    }

    /// Writes an object, sometimes with the connection dropped in the middle. Returns nothing after an error.
    async fn write(
        &self,
        kind: usize,
        api: &Api<DynamicObject>,
        operation: Operation,
        name: &str,
        number: i64,
    ) -> Option<Outcome> {
        let request = self.request(kind, api, operation, name, number);
        let done = match rand::random_range(0..CUT_OFF) {
            0 => {
                let soon = Duration::from_micros(rand::random_range(0..2000));
                match tokio::time::timeout(soon, request).await {
                    Ok(done) => done,
                    Err(_) => {
                        self.tally.count(Operation::CutOff);
                        return Some(Outcome::Unknown);
                    }
                }
            }
            _ => request.await,
        };
        self.tally.count(operation);
        match done {
            Ok(()) => Some(Outcome::Done),
            Err(error) => {
                self.tally
                    .error(format_args!("{operation:?} {name}: {error}"));
                None
            }
        }
    }

    async fn request(
        &self,
        kind: usize,
        api: &Api<DynamicObject>,
        operation: Operation,
        name: &str,
        number: i64,
    ) -> Result<(), Error> {
        let object = self.models[kind].kind.object(name, self.number, number);
        let manager = format!("worker-{}", self.number);
        let typed = || serde_json::from_value(object.clone()).map_err(Error::SerdeError);
        match operation {
            Operation::Create => drop(api.create(&PostParams::default(), &typed()?).await?),
            Operation::Update => {
                let mut new: DynamicObject = typed()?;
                new.metadata.resource_version = api.get(name).await?.metadata.resource_version;
                api.replace(name, &PostParams::default(), &new).await?;
            }
            Operation::Patch => {
                let patch = Patch::Merge(&object);
                api.patch(name, &PatchParams::default(), &patch).await?;
            }
            Operation::Apply => {
                let parameters = PatchParams::apply(&manager).force();
                api.patch(name, &parameters, &Patch::Apply(&object)).await?;
            }
            _ => drop(api.delete(name, &DeleteParams::default()).await?),
        }
        Ok(())
    }

    /// Compares the worker's objects on the server with the model.
    async fn list(&self, kind: usize, api: &Api<DynamicObject>) {
        self.tally.count(Operation::List);
        let model = &self.models[kind];
        let listed = kinds::list_with(api, &format!("{WORKER}={}", self.number)).await;
        let mut held: Numbers = match listed {
            Ok(objects) => objects
                .iter()
                .filter_map(|object| {
                    Some((object.metadata.name.clone()?, model.kind.number(object)))
                })
                .collect(),
            Err(error) => return self.tally.error(format_args!("list: {error:#}")),
        };
        for (_, name) in &model.uncertain {
            held.remove(name);
        }
        self.tally
            .wrong_objects(kinds::count_differences(&held, &model.numbers));
    }

    /// Deletes an object that may not exist.
    async fn delete_uncertain(&self, kind: usize, name: &str) {
        let api = self.models[kind].kind.api(self.client.clone());
        self.tally.count(Operation::Delete);
        let options = DeleteParams::default();
        match api.delete(name, &options).await {
            Ok(_) => {}
            Err(Error::Api(status)) if status.code == 404 => {}
            Err(error) => self
                .tally
                .error(format_args!("delete {}: {error}", json!(name))),
        }
    }
}
