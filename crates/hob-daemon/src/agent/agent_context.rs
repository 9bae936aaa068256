//! What every part of the agent room shares.

use super::live::Live;
use super::settings;
use super::tool_list::ToolList;
use crate::library::Library;
use hob_bus::{Bus, Emitter};
use hob_core::failover::RetryPolicy;
use hob_core::family::DEPTH_MAX;
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::home::Home;
use hob_kit::mask::Mask;
use hob_kit::settings::Settings;
use hob_kit::tasks::Tasks;
use hob_models::Book;
use hob_store::{Ceilings, Store};
use hob_wire::{RunId, WireError};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// What the room is made of.
pub struct Parts {
    pub store: Store,
    pub bus: Bus,
    pub tasks: Tasks,
    pub library: Library,
    pub home: Home,
    /// The secrets that no prompt may hold.
    pub mask: Mask,
    pub clock: Clock,
    pub dice: Dice,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// The parts, and what the room adds to them.
pub(crate) struct Shared {
    pub(crate) parts: Parts,
    pub(crate) live: Live,
    /// One permit for each run at work, by generation: a run waits for its children, so they must
    /// never wait for its slot.
    slots: Vec<Arc<Semaphore>>,
    pub(crate) emitter: Emitter,
    pub(crate) tools: Arc<ToolList>,
    /// Conversations that are answered now and stored nowhere. A std mutex, because it is held
    /// for a lookup.
    pub(crate) chats: Mutex<HashMap<RunId, CancellationToken>>,
}

impl Shared {
    pub(crate) fn new(parts: Parts) -> Self {
        let slots = parts.library.settings().usize("agent.concurrency");
        Shared {
            live: Live::default(),
            slots: (0..=DEPTH_MAX)
                .map(|_| Arc::new(Semaphore::new(slots)))
                .collect(),
            emitter: parts.bus.emitter("agent"),
            tools: Arc::default(),
            chats: Mutex::default(),
            parts,
        }
    }

    /// The slots of a generation; all beyond the last one share its.
    pub(crate) fn slots(&self, depth: usize) -> Arc<Semaphore> {
        Arc::clone(&self.slots[depth.min(DEPTH_MAX)])
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.parts.clock.wall_ms()
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.parts.library.settings()
    }

    /// The models as they are configured this moment.
    pub(crate) fn book(&self) -> Book {
        self.parts.library.book()
    }

    pub(crate) fn ceilings(&self) -> Ceilings {
        settings::ceilings(&self.settings())
    }

    pub(crate) fn retry_policy(&self) -> RetryPolicy {
        settings::retry_policy(&self.settings())
    }

    pub(crate) fn new_run_id(&self) -> RunId {
        RunId(self.parts.dice.uuid(self.now_ms()))
    }

    /// A fresh id for a tool call: letters and digits, nine of them, which every provider takes.
    pub(crate) fn new_call_id(&self) -> String {
        const DIGITS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut bytes = [0; 9];
        self.parts.dice.fill(&mut bytes);
        let digit = |byte: &u8| char::from(DIGITS[usize::from(*byte) % DIGITS.len()]);
        bytes.iter().map(digit).collect()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").finish_non_exhaustive()
    }
}

/// A refusal of a request, in the wire's words.
pub(crate) fn refused(code: hob_wire::ErrorCode, message: impl Into<String>) -> WireError {
    WireError::new(code, message)
}
