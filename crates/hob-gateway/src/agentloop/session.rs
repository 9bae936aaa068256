//! One session as one client sees it: whose turn it is, and how its messages are to be answered.

use hob_core::packs::{self, Pack, Reason};
use hob_wire::agentloop::{RoutingMode, SessionConfigure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::Mutex;

/// The entry of a session's metadata that holds its [`Manner`].
const METADATA: &str = "agentloop";

#[derive(Debug, Default)]
pub(crate) struct Place {
    /// Messages are answered one after the other, in the order they came; the lock is fair.
    pub(crate) order: Mutex<()>,
    cancels: AtomicU64,
    turns: AtomicUsize,
}

impl Place {
    /// Everything asked for until now is to stop.
    pub(crate) fn cancel(&self) {
        self.cancels.fetch_add(1, Ordering::AcqRel);
    }

    /// How often it was cancelled; a turn that began at another count is to stop.
    pub(crate) fn cancels(&self) -> u64 {
        self.cancels.load(Ordering::Acquire)
    }

    pub(crate) fn turn_began(&self) {
        self.turns.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn turn_ended(&self) {
        self.turns.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.turns.load(Ordering::Acquire) > 0
    }
}

/// How a session's messages are to be answered; kept in its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Manner {
    pub(crate) routing_mode: RoutingMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_prompt: Option<String>,
}

impl Manner {
    /// As a session's metadata has it; what is not understood counts as nothing.
    pub(crate) fn read(metadata: &Map<String, Value>) -> Manner {
        let entry = metadata.get(METADATA).cloned().unwrap_or_default();
        serde_json::from_value(entry).unwrap_or_default()
    }

    /// The entry of the metadata that keeps it.
    pub(crate) fn entry(&self) -> Map<String, Value> {
        let entry = serde_json::to_value(self).unwrap_or_default();
        Map::from_iter([(METADATA.to_owned(), entry)])
    }

    /// Takes up a change, or says which agent there is not.
    pub(crate) fn change(&mut self, change: SessionConfigure) -> Result<(), String> {
        if let Some(Some(agent)) = &change.agent
            && packs::named(agent).is_none()
        {
            let known: Vec<&str> = packs::PACKS.iter().map(|pack| pack.name).collect();
            return Err(format!(
                "There is no agent '{agent}'; there are {}.",
                known.join(", ")
            ));
        }
        if let Some(mode) = change.routing_mode {
            self.routing_mode = mode;
        }
        if let Some(agent) = change.agent {
            self.agent = agent;
        }
        if let Some(prompt) = change.session_prompt {
            self.session_prompt = prompt.filter(|prompt| !prompt.trim().is_empty());
        }
        Ok(())
    }

    /// Who answers a message: the agent that was pinned, or else the one its words ask for.
    pub(crate) fn route(&self, message: &str) -> (RoutingMode, &'static Pack, String) {
        let pinned = match self.routing_mode {
            RoutingMode::Pinned => self.agent.as_deref().and_then(packs::named),
            RoutingMode::Auto => None,
        };
        if let Some(pack) = pinned {
            return (RoutingMode::Pinned, pack, "pinned".to_owned());
        }
        let (pack, reason) = packs::route(message);
        let reason = match reason {
            Reason::Word(word) => format!("the message says '{word}'"),
            Reason::Nothing => "nothing asks for another agent".to_owned(),
        };
        (RoutingMode::Auto, pack, reason)
    }

    /// The layer of the system prompt for messages that `pack` answers.
    pub(crate) fn system(&self, pack: &Pack) -> String {
        match &self.session_prompt {
            Some(prompt) => format!("{}\n\n{prompt}", pack.prompt),
            None => pack.prompt.to_owned(),
        }
    }

    /// In a few words, for people.
    pub(crate) fn summary(&self) -> String {
        let mode = match self.routing_mode {
            RoutingMode::Auto => "auto",
            RoutingMode::Pinned => "pinned",
        };
        match &self.agent {
            Some(agent) => format!("Configured ({mode}: {agent})"),
            None => format!("Configured ({mode})"),
        }
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
