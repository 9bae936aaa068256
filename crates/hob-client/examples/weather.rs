//! An external service for hob in Rust: the method `weather.now`, and an event for each call.
//!
//! Run it beside a daemon (`hob up`), then call it:
//!
//! ```text
//! cargo run -p hob-client --example weather
//! hob rpc weather.now '{"place": "Bath"}'
//! ```
//!
//! It survives restarts of the daemon: the client reconnects and registers again. With `HOB_URL`
//! and `HOB_TOKEN` it serves a daemon on another machine, through `ssh -L`.

#![expect(clippy::print_stdout, reason = "an example prints to its user")]

use hob_client::{Client, DaemonTarget, ServiceDefinition};
use hob_kit::host_environment::HostEnvironment;
use hob_wire::{ErrorCode, WireError};
use serde::{Deserialize, Serialize};
use std::error::Error;
use tokio::sync::mpsc;

/// Calls queued for an event.
const QUESTIONS_MAX: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NowParams {
    place: String,
}

#[derive(Serialize)]
struct Now {
    place: String,
    degrees: i32,
}

#[derive(Serialize)]
struct Asked {
    place: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (questions, mut asked) = mpsc::channel::<String>(QUESTIONS_MAX);
    let service = ServiceDefinition::new("weather", env!("CARGO_PKG_VERSION"))
        .method("weather.now", move |_, params: NowParams| {
            let questions = questions.clone();
            async move { now(params, &questions).await }
        })
        .logged_event("weather.asked");

    let client = Client::connect(target()?).await?;
    let serving = client.serve(service).await?;
    println!("weather is on the bus");
    loop {
        tokio::select! {
            Some(place) = asked.recv() => serving.emit("weather.asked", &Asked { place }).await?,
            ended = serving.wait_for_failure() => return Err(ended.into()),
        }
    }
}

async fn now(params: NowParams, questions: &mpsc::Sender<String>) -> Result<Now, WireError> {
    if params.place.is_empty() {
        let message = "Say which place, such as {\"place\": \"Bath\"}.";
        return Err(WireError::new(ErrorCode::InvalidParams, message));
    }
    // A failed send means that the service is ending.
    drop(questions.send(params.place.clone()).await);
    Ok(Now {
        place: params.place,
        degrees: 21,
    })
}

/// The daemon of this user's home, or the one that the environment names.
fn target() -> Result<DaemonTarget, Box<dyn Error>> {
    let world = HostEnvironment::capture()?;
    let token = world.env.text("HOB_TOKEN");
    Ok(match (world.env.text("HOB_URL"), token) {
        (Some(url), Some(token)) => DaemonTarget::url(url, token)?,
        (None, Some(token)) => DaemonTarget::home(&world.home).with_token(token),
        _ => DaemonTarget::home(&world.home),
    })
}
