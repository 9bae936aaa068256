//! The offer of a model on this machine to somebody who has none, and a word about how much it
//! can do.
//!
//! Invariants: nothing is installed without a yes to what was shown; a no is remembered, and so is
//! that the word was said.

use super::talk::{Interrupts, Setting};
use super::{advice, talk};
use crate::failure::{Exit, Failure};
use crate::installing::Site;
use crate::mind::ending::Ending;
use crate::render::Tone;
use crate::render::words::wrap;
use crate::terminal::Terminal;
use clap::{Arg, ArgAction};
use hob_client::Client;
use hob_kit::file;
use hob_kit::home::Home;
use hob_services::trust::names_distrusted;
use hob_wire::rooms::agent::RunParams;
use hob_wire::rooms::model::{List, ListParams};
use hob_wire::rooms::service::{self, List as Services, Service, ServiceRole};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::Instant;

/// The service that answers when no provider is configured.
const SERVICE: &str = "llm";
/// How long a model that is here may take to be seen by who asks it, and how often that is tried.
const SEEN_WAIT: Duration = Duration::from_secs(10);
const SEEN_PAUSE: Duration = Duration::from_millis(100);
/// Servers that are remembered as named; the oldest goes.
const SERVERS_MAX: usize = 32;
/// A file of notices larger than this is not ours.
const NOTICES_BYTES_MAX: u64 = 64 * 1_024;

/// `--yes`.
pub fn flag() -> Arg {
    Arg::new("yes")
        .long("yes")
        .short('y')
        .action(ArgAction::SetTrue)
        .help(
            "Installs the local model without asking if there is no other; never answers what \
             a tool asks",
        )
}

/// Orders a run and follows it to its end. With no model to ask, offers to install one first.
pub async fn run(
    setting: Setting<'_>,
    params: &RunParams,
    yes: bool,
    interrupts: &mut Interrupts,
) -> Result<Ending, Failure> {
    let mut ended = talk::run(setting, params, interrupts).await;
    if !lacks_model(&ended) {
        return ended;
    }
    // A daemon that has just started may not have seen yet what there is.
    if !is_here(setting.client).await {
        install(setting, yes, interrupts).await?;
    }
    let until = Instant::now() + SEEN_WAIT;
    loop {
        ended = talk::run(setting, params, interrupts).await;
        if !lacks_model(&ended) || Instant::now() >= until {
            return ended;
        }
        tokio::time::sleep(SEEN_PAUSE).await;
    }
}

fn lacks_model(ended: &Result<Ending, Failure>) -> bool {
    let failure = ended.as_ref().err();
    failure.is_some_and(advice::lacks_model)
}

/// Whether a service that answers is installed or found.
async fn is_here(client: &Client) -> bool {
    let listed = client.call_again::<Services>(&service::ListParams {}).await;
    let services = listed.map(|listed| listed.services).unwrap_or_default();
    let answers = |it: &Service| it.installed && it.role == Some(ServiceRole::Llm);
    services.iter().any(answers)
}

/// Names servers of other users that were found and left alone: one may be what is looked for.
async fn tell_left_alone(client: &Client) {
    let listed = client.call_again::<Services>(&service::ListParams {}).await;
    let services = listed.map(|listed| listed.services).unwrap_or_default();
    let missing = services.iter().filter(|it| it.status.name == SERVICE);
    let missing = missing.filter_map(|it| it.missing.as_deref());
    let lines = missing.flat_map(str::lines);
    for line in lines.filter(|line| names_distrusted(line)) {
        Terminal::note(crate::render::words::one_line(line));
    }
}

/// Installs the local model, if that is possible and wanted.
async fn install(
    setting: Setting<'_>,
    yes: bool,
    interrupts: &mut Interrupts,
) -> Result<(), Failure> {
    let context = setting.context;
    let site = Site {
        context,
        client: setting.client,
        name: SERVICE,
    };
    tell_left_alone(setting.client).await;
    // A daemon without such a service has nothing to offer.
    let Ok(plan) = site.plan().await else {
        return Err(advice::no_model("No model is configured yet."));
    };
    if let Some(obstacle) = &plan.plan.obstacle {
        let why = super::lines::sentence(obstacle);
        let sentence = format!("No model is configured yet, and the local one needs help: {why}");
        return Err(advice::no_model(sentence));
    }
    if plan.plan.ready {
        return Ok(());
    }
    let mut notices = Notices::read(&context.world.home);
    if !yes {
        let person = setting.person.filter(|_| !notices.declined);
        let Some(person) = person else {
            return Err(advice::no_model("No model is configured yet."));
        };
        let intro = "No model is configured yet. hob can install a small one on this machine:";
        Terminal::note(intro);
        let agreed = tokio::select! {
            agreed = site.consent(person, &plan, "Install it?") => agreed?,
            () = interrupts.next() => {
                Terminal::note("");
                return Err(Failure::quiet(Exit::Interrupted));
            }
        };
        if !agreed {
            notices.declined = true;
            notices.keep(&context.world.home);
            return Err(advice::no_model("Nothing was installed."));
        }
    } else if !context.terminal.json {
        let sizes = crate::render::services::sizes(&plan.plan);
        Terminal::note(format!("Installing a small model on this machine: {sizes}"));
    }
    site.install(interrupts).await
}

/// Says, once in a home, that the local model is modest, after its first answer.
pub async fn tell_modest(setting: Setting<'_>, ending: &Ending) {
    let context = setting.context;
    let home = &context.world.home;
    let completed = ending.completed.as_ref().filter(|it| it.success);
    let model = completed.and_then(|completed| completed.model.as_deref());
    let Some((SERVICE, model)) = model.and_then(|model| model.split_once('/')) else {
        return;
    };
    let mut notices = Notices::read(home);
    if notices.modest || context.terminal.json {
        return;
    }
    let params = ListParams {
        provider: Some(SERVICE.to_owned()),
        names_only: true,
    };
    let Ok(found) = setting.client.call_again::<List>(&params).await else {
        return;
    };
    let mut services = found.providers.iter().filter_map(|it| it.service.as_ref());
    if !services.any(|service| service.modest && service.model.as_deref() == Some(model)) {
        return;
    }
    let screen = Terminal::measured(context.terminal.asides());
    let room = screen.width.unwrap_or(80);
    for line in modest_words(model).iter().flat_map(|it| wrap(it, room)) {
        Terminal::note(screen.paint(Tone::Quiet, &line));
    }
    notices.modest = true;
    notices.keep(home);
}

fn modest_words(model: &str) -> [String; 2] {
    let model = crate::render::words::one_line(model);
    [
        format!(
            "{model} is a modest model: it fits any machine, knows little, gets facts wrong and \
             uses no tools."
        ),
        "For a better one: set a key such as ANTHROPIC_API_KEY and `hob restart`, run Ollama, or \
         `hob config set llm.model /path/to/model.gguf`. (Said once.)"
            .to_owned(),
    ]
}

/// What a person was told or asked once in this home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Notices {
    /// That the local model is modest.
    modest: bool,
    /// Whether to install it, and they said no.
    declined: bool,
    /// Which servers of this machine got a prompt, as it was said.
    servers: Vec<String>,
}

impl Notices {
    /// What is remembered; a file that cannot be read remembers nothing.
    fn read(home: &Home) -> Notices {
        let path = home.notices();
        let small = |len: u64| len <= NOTICES_BYTES_MAX;
        if !std::fs::metadata(&path).is_ok_and(|it| small(it.len())) {
            return Notices::default();
        }
        let text = std::fs::read(&path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Whether a line about a server was not said in this home yet; from now on it was.
    pub(super) fn is_first_server(home: &Home, line: &str) -> bool {
        let mut notices = Notices::read(home);
        if notices.servers.iter().any(|known| known == line) {
            return false;
        }
        notices.servers.push(line.to_owned());
        let beyond = notices.servers.len().saturating_sub(SERVERS_MAX);
        notices.servers.drain(..beyond);
        notices.keep(home);
        true
    }

    fn keep(self, home: &Home) {
        // Not remembering costs a repetition, nothing else.
        if let Ok(text) = serde_json::to_vec(&self) {
            let _ = file::replace_unsynced(&home.notices(), &text);
        }
    }
}

#[cfg(test)]
#[path = "offer_tests.rs"]
mod tests;
