//! Chooses the service that speaks, and reads its errors. Pure.

use hob_services::tts;
use hob_wire::rooms::service::{ManagedService, ServiceRole, ServiceState};
use serde::Deserialize;

const ERROR_CHARS_MAX: usize = 500;

#[derive(Debug, PartialEq, Eq)]
/// The service that speaks, or the reason why none does.
pub(super) enum ServiceChoice {
    Service(String),
    /// No speech service has that name.
    NotFound(String),
    /// No speech service can be started.
    Missing(String),
}

/// Chooses the named service, else a running one, else an installed one.
pub(super) fn choose(services: &[ManagedService], named: Option<&str>) -> ServiceChoice {
    let speaking = || {
        services
            .iter()
            .filter(|it| it.role == Some(ServiceRole::Tts))
    };
    if let Some(named) = named {
        let is_named = |it: &&ManagedService| {
            it.status.name == named || it.aliases.iter().any(|alias| alias == named)
        };
        let Some(found) = speaking().find(is_named) else {
            let shown: String = named.chars().take(64).collect();
            let those: Vec<&str> = speaking().map(|it| it.status.name.as_str()).collect();
            let those = those.join(", ");
            return ServiceChoice::NotFound(format!(
                "There is no speech service '{shown}'. The speech services are: {those}."
            ));
        };
        return usable(found);
    }
    let runs = |it: &&ManagedService| it.status.state == ServiceState::Running;
    if let Some(found) = speaking().find(runs) {
        return ServiceChoice::Service(found.status.name.clone());
    }
    if let Some(found) = speaking().find(|it| it.installed) {
        return ServiceChoice::Service(found.status.name.clone());
    }
    // hob's own service is the easiest to install, so its reason comes first.
    let ours = speaking().find(|it| it.status.name == tts::NAME);
    let why = ours
        .into_iter()
        .chain(speaking())
        .find_map(|it| it.missing.clone());
    ServiceChoice::Missing(why.unwrap_or_else(|| "There is no speech service.".to_owned()))
}

fn usable(found: &ManagedService) -> ServiceChoice {
    let runs = found.status.state == ServiceState::Running;
    match &found.missing {
        Some(why) if !found.installed && !runs => ServiceChoice::Missing(why.clone()),
        _ => ServiceChoice::Service(found.status.name.clone()),
    }
}

/// Returns the service's own error message, without control characters, or its status.
pub(super) fn error_message(service: &str, status: u16, body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct SpeechErrorBody {
        error: SpeechErrorField,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum SpeechErrorField {
        Sentence(String),
        Object { message: String },
    }
    let words = match serde_json::from_slice::<SpeechErrorBody>(body) {
        Ok(SpeechErrorBody {
            error: SpeechErrorField::Sentence(words) | SpeechErrorField::Object { message: words },
        }) => words,
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let words: String = words
        .chars()
        .filter(|letter| !letter.is_control())
        .take(ERROR_CHARS_MAX)
        .collect();
    if words.trim().is_empty() {
        return format!("The service '{service}' answered {status}.");
    }
    words
}

#[cfg(test)]
#[path = "service_choice_tests.rs"]
mod tests;
