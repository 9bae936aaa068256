//! An outside service for hob in Rust: `weather.now`, and an event whenever it is asked.
//!
//! Run it beside a daemon (`hob up`), then call it:
//!
//! ```text
//! cargo run -p hob-client --example weather
//! hob rpc weather.now '{"place": "Bath"}'
//! ```
//!
//! It survives restarts of the daemon: the client finds it again and registers anew. With
//! `HOB_URL` and `HOB_TOKEN` it serves a daemon elsewhere, through `ssh -L`.

#![expect(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use hob_client::{Client, Service, Target};
use hob_kit::world::World;
use hob_wire::{ErrorCode, WireError};
use serde::{Deserialize, Serialize};
use std::error::Error;
use tokio::sync::mpsc;

/// Questions on their way to becoming events.
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
    let service = Service::new("weather", env!("CARGO_PKG_VERSION"))
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
            ended = serving.ended() => return Err(ended.into()),
        }
    }
}

async fn now(params: NowParams, questions: &mpsc::Sender<String>) -> Result<Now, WireError> {
    if params.place.is_empty() {
        let message = "Say which place, such as {\"place\": \"Bath\"}.";
        return Err(WireError::new(ErrorCode::InvalidParams, message));
    }
    // Only a service that is ending no longer takes them.
    drop(questions.send(params.place.clone()).await);
    Ok(Now {
        place: params.place,
        degrees: 21,
    })
}

/// The daemon of this user's home, or the one that the environment names.
fn target() -> Result<Target, Box<dyn Error>> {
    let world = World::capture()?;
    let token = world.env.text("HOB_TOKEN");
    Ok(match (world.env.text("HOB_URL"), token) {
        (Some(url), Some(token)) => Target::url(url, token)?,
        (None, Some(token)) => Target::home(&world.home).with_token(token),
        _ => Target::home(&world.home),
    })
}
