//! The options, best first.

use super::facts::{
    DemoModel, LocalModelCandidate, OnboardingFacts, ProviderKey, ProviderKeyState, RunningServer,
};

/// The id of the option to paste a key.
pub const OPTION_PASTE: &str = "paste";
/// The id of the demo model.
pub const OPTION_DEMO: &str = "demo";
/// The id that means none of the options.
pub const DECLINED: &str = "none";

/// The beginnings of the other ids.
const KEY_PREFIX: &str = "key:";
const SERVER_PREFIX: &str = "server:";
const PULL_PREFIX: &str = "pull:";

/// The most local models that are offered.
const CANDIDATES_MAX: usize = 3;
/// The most models of one server that are listed.
const SERVER_MODELS_MAX: usize = 20;
/// The memory left for the rest of the machine.
const MEMORY_MARGIN_BYTES: u64 = 1_000_000_000;
/// The disk space left free beside a download.
const DISK_MARGIN_BYTES: u64 = 1_000_000_000;

/// A model to use, or a way to get one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnboardingOption {
    pub id: String,
    pub kind: OnboardingOptionKind,
    /// A line for a list.
    pub title: String,
    /// The models of it, the one that is taken first.
    pub models: Vec<String>,
    /// The providers whose key can be pasted.
    pub providers: Vec<String>,
    /// True if it can use tools; `None` if that is unknown.
    pub tools: Option<bool>,
    pub download_bytes: Option<u64>,
    pub memory_bytes: Option<u64>,
    pub licence: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnboardingOptionKind {
    /// A provider whose key is there.
    Key,
    /// A model server that runs.
    Server,
    /// A local model to download.
    Pull,
    /// A key to paste.
    Paste,
    Demo,
}

/// What an option id means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OptionId<'i> {
    Key(&'i str),
    Server(&'i str),
    Pull(&'i str),
    Paste,
    Demo,
    Declined,
}

impl<'i> OptionId<'i> {
    pub(super) fn parse(id: &'i str) -> Option<OptionId<'i>> {
        match id {
            OPTION_PASTE => return Some(OptionId::Paste),
            OPTION_DEMO => return Some(OptionId::Demo),
            DECLINED => return Some(OptionId::Declined),
            _ => {}
        }
        let key = id.strip_prefix(KEY_PREFIX).map(OptionId::Key);
        let server = || id.strip_prefix(SERVER_PREFIX).map(OptionId::Server);
        let pull = || id.strip_prefix(PULL_PREFIX).map(OptionId::Pull);
        key.or_else(server).or_else(pull)
    }
}

/// The options that this machine can carry out, best first: a key that is there, a server that runs,
/// a local model that fits, a key to paste, and last the demo.
pub fn options(facts: &OnboardingFacts) -> Vec<OnboardingOption> {
    let there = facts.keys.iter().filter(|key| key.is_there());
    let mut options: Vec<OnboardingOption> = there.map(key_option).collect();
    options.extend(facts.servers.iter().map(server_option));
    options.extend(fitting(facts).into_iter().map(pull_option));
    options.extend(paste_option(&facts.keys));
    options.extend(demo_option(facts));
    options
}

/// The first candidates that fit the machine's memory and disk. Their order says which is best.
pub(super) fn fitting(facts: &OnboardingFacts) -> Vec<&LocalModelCandidate> {
    let fits = |one: &&LocalModelCandidate| {
        one.memory.saturating_add(MEMORY_MARGIN_BYTES) <= facts.room.memory_bytes
            && one.bytes.saturating_add(DISK_MARGIN_BYTES) <= facts.room.disk_bytes
    };
    let fitting = facts.candidates.iter().filter(fits);
    fitting.take(CANDIDATES_MAX).collect()
}

fn key_option(key: &ProviderKey) -> OnboardingOption {
    let from = match key.state {
        ProviderKeyState::Kept => "with the key kept in hob's home".to_owned(),
        _ => format!("with the key in {}", key.variable),
    };
    OnboardingOption {
        title: format!("{}, {from}", key.provider),
        models: vec![key.model_id()],
        tools: Some(true),
        ..blank(
            format!("{KEY_PREFIX}{}", key.provider),
            OnboardingOptionKind::Key,
        )
    }
}

fn server_option(server: &RunningServer) -> OnboardingOption {
    let models = server.models.iter().take(SERVER_MODELS_MAX);
    OnboardingOption {
        title: server.what.clone(),
        models: models.cloned().collect(),
        ..blank(
            format!("{SERVER_PREFIX}{}", server.address),
            OnboardingOptionKind::Server,
        )
    }
}

fn pull_option(candidate: &LocalModelCandidate) -> OnboardingOption {
    OnboardingOption {
        title: format!("{} on this machine", candidate.name),
        models: vec![candidate.name.clone()],
        tools: Some(candidate.tools),
        download_bytes: Some(candidate.bytes),
        memory_bytes: Some(candidate.memory),
        licence: Some(candidate.licence.clone()),
        ..blank(
            format!("{PULL_PREFIX}{}", candidate.name),
            OnboardingOptionKind::Pull,
        )
    }
}

fn paste_option(keys: &[ProviderKey]) -> Option<OnboardingOption> {
    // A variable of the environment wins over a kept key, so a pasted one would change nothing.
    let open = keys
        .iter()
        .filter(|key| key.state != ProviderKeyState::Environment);
    let providers: Vec<String> = open.map(|key| key.provider.clone()).collect();
    (!providers.is_empty()).then(|| OnboardingOption {
        title: "A key of a provider, to paste".to_owned(),
        providers,
        tools: Some(true),
        ..blank(OPTION_PASTE.to_owned(), OnboardingOptionKind::Paste)
    })
}

fn demo_option(facts: &OnboardingFacts) -> Option<OnboardingOption> {
    // The service of local models uses a server that runs before the demo.
    if !facts.servers.is_empty() {
        return None;
    }
    let (model, download_bytes, licence) = match &facts.demo {
        DemoModel::Installed { model } => (model, None, None),
        DemoModel::Installable {
            model,
            download_bytes,
            licence,
        } => (model, Some(*download_bytes), Some(licence.clone())),
        DemoModel::Unavailable => return None,
    };
    Some(OnboardingOption {
        title: "A demo model, to check that hob works".to_owned(),
        models: vec![model.clone()],
        tools: Some(false),
        download_bytes,
        licence,
        ..blank(OPTION_DEMO.to_owned(), OnboardingOptionKind::Demo)
    })
}

fn blank(id: String, kind: OnboardingOptionKind) -> OnboardingOption {
    OnboardingOption {
        id,
        kind,
        title: String::new(),
        models: Vec::new(),
        providers: Vec::new(),
        tools: None,
        download_bytes: None,
        memory_bytes: None,
        licence: None,
    }
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
