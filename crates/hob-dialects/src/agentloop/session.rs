//! A session of an AgentLoop client: its turns, and how its messages are routed to agents.

use crate::agentloop::agent_packs::{AgentPack, AgentPacks, RouteReason};
use crate::agentloop::types::{AgentLoopSessionConfigure, RoutingMode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::Mutex;

/// The key of [`AgentLoopRouting`] in a session's metadata.
const METADATA_KEY: &str = "agentloop";

#[derive(Debug, Default)]
pub(crate) struct AgentLoopSessionTurns {
    /// Held by the running turn. The lock is fair, so messages are answered in their order. Shared,
    /// so that a turn may hold it before its task has started.
    pub(crate) turn_lock: Arc<Mutex<()>>,
    cancel_count: AtomicU64,
    active_turns: AtomicUsize,
}

impl AgentLoopSessionTurns {
    /// Cancels all turns that began until now.
    pub(crate) fn cancel(&self) {
        // A counter and no flag: a flag would need a reset, which could hit a later turn.
        self.cancel_count.fetch_add(1, Ordering::AcqRel);
    }

    /// The number of cancels. A turn that began at another count must stop.
    pub(crate) fn cancel_count(&self) -> u64 {
        self.cancel_count.load(Ordering::Acquire)
    }

    pub(crate) fn turn_began(&self) {
        self.active_turns.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn turn_ended(&self) {
        self.active_turns.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.active_turns.load(Ordering::Acquire) > 0
    }
}

/// The routing of a session's messages, stored in its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AgentLoopRouting {
    pub(crate) routing_mode: RoutingMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_prompt: Option<String>,
}

impl AgentLoopRouting {
    /// Reads the routing from a session's metadata; the default if it is missing or invalid.
    pub(crate) fn from_metadata(metadata: &Map<String, Value>) -> AgentLoopRouting {
        let entry = metadata.get(METADATA_KEY).cloned().unwrap_or_default();
        serde_json::from_value(entry).unwrap_or_default()
    }

    /// The metadata entry that stores the routing.
    pub(crate) fn metadata_entry(&self) -> Map<String, Value> {
        let entry = serde_json::to_value(self).unwrap_or_default();
        Map::from_iter([(METADATA_KEY.to_owned(), entry)])
    }

    /// Applies a change, or returns an error that names the unknown agent.
    pub(crate) fn apply(
        &mut self,
        change: AgentLoopSessionConfigure,
        packs: &AgentPacks,
    ) -> Result<(), String> {
        if let Some(Some(agent)) = &change.agent
            && packs.find(agent).is_none()
        {
            let known: Vec<&str> = packs.iter().map(|pack| pack.name.as_str()).collect();
            // The client's text is repeated in the error, so it is shortened.
            let agent: String = agent.chars().take(64).collect();
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

    /// Returns the agent for a message: the pinned one, or else the one that its text asks for.
    pub(crate) fn route<'p>(
        &self,
        message: &str,
        packs: &'p AgentPacks,
    ) -> (RoutingMode, &'p AgentPack, String) {
        let pinned = match self.routing_mode {
            RoutingMode::Pinned => self.agent.as_deref().and_then(|name| packs.find(name)),
            RoutingMode::Auto => None,
        };
        if let Some(pack) = pinned {
            return (RoutingMode::Pinned, pack, "pinned".to_owned());
        }
        let (pack, reason) = packs.route(message);
        let reason = match reason {
            RouteReason::Keyword(word) => format!("the message says '{word}'"),
            RouteReason::NoKeyword => "nothing asks for another agent".to_owned(),
        };
        (RoutingMode::Auto, pack, reason)
    }

    /// The system prompt for messages that `pack` answers.
    pub(crate) fn system_prompt(&self, pack: &AgentPack) -> String {
        match &self.session_prompt {
            Some(prompt) => format!("{}\n\n{prompt}", pack.prompt),
            None => pack.prompt.clone(),
        }
    }

    /// A short text for people.
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
#[path = "session_tests.rs"]
mod tests;
