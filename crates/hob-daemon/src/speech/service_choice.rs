//! Which service speaks, and what it says when it does not. Pure.

use hob_services::tts;
use hob_wire::rooms::service::{Service, ServiceRole, ServiceState};
use serde::Deserialize;

const COMPLAINT_CHARS_MAX: usize = 500;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Service(String),
    /// There is none of that name that speaks.
    NotFound(String),
    /// None can be started.
    Missing(String),
}

/// The service that speaks: the one that was named, else one that runs, else one that can.
pub(super) fn choose(services: &[Service], named: Option<&str>) -> Choice {
    let speaking = || {
        services
            .iter()
            .filter(|it| it.role == Some(ServiceRole::Tts))
    };
    if let Some(named) = named {
        let is_named = |it: &&Service| {
            it.status.name == named || it.aliases.iter().any(|alias| alias == named)
        };
        let Some(found) = speaking().find(is_named) else {
            let shown: String = named.chars().take(64).collect();
            let those: Vec<&str> = speaking().map(|it| it.status.name.as_str()).collect();
            let those = those.join(", ");
            return Choice::NotFound(format!("No service '{shown}' speaks; these do: {those}."));
        };
        return usable(found);
    }
    let runs = |it: &&Service| it.status.state == ServiceState::Running;
    if let Some(found) = speaking().find(runs) {
        return Choice::Service(found.status.name.clone());
    }
    if let Some(found) = speaking().find(|it| it.installed) {
        return Choice::Service(found.status.name.clone());
    }
    // The one that is easiest to get.
    let ours = speaking().find(|it| it.status.name == tts::NAME);
    let why = ours
        .into_iter()
        .chain(speaking())
        .find_map(|it| it.missing.clone());
    Choice::Missing(why.unwrap_or_else(|| "There is no service that speaks.".to_owned()))
}

fn usable(found: &Service) -> Choice {
    let runs = found.status.state == ServiceState::Running;
    match &found.missing {
        Some(why) if !found.installed && !runs => Choice::Missing(why.clone()),
        _ => Choice::Service(found.status.name.clone()),
    }
}

/// What a service says is wrong, in its own words as far as they are words.
pub(super) fn complaint(service: &str, status: u16, body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Told {
        error: Why,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Why {
        Sentence(String),
        Object { message: String },
    }
    let words = match serde_json::from_slice::<Told>(body) {
        Ok(Told {
            error: Why::Sentence(words) | Why::Object { message: words },
        }) => words,
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let words: String = words
        .chars()
        .filter(|letter| !letter.is_control())
        .take(COMPLAINT_CHARS_MAX)
        .collect();
    if words.trim().is_empty() {
        return format!("The service '{service}' answered {status}.");
    }
    words
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
