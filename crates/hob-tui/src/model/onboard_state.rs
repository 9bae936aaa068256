//! The choice of a first model, as far as the person got. Pure.

use hob_wire::rooms::onboard::{
    OnboardChooseParams, OnboardKind, OnboardOption, OnboardOptionsResult,
};

/// The pause between two questions whether a model is ready.
const ASK_AGAIN_MS: u64 = 1_000;

#[derive(Debug, Default)]
pub struct OnboardState {
    pub(crate) options: Option<OnboardOptionsResult>,
    pub(crate) chosen: usize,
    /// The provider and the key while one is pasted.
    pub(crate) key: Option<KeyEntry>,
    /// What happened last, or the progress.
    pub(crate) message: Option<String>,
    /// A model is being installed: when to ask for it again.
    waits_until: Option<u64>,
    pub(crate) is_busy: bool,
}

/// A key that is being entered.
#[derive(Clone, Default)]
pub(crate) struct KeyEntry {
    pub(crate) option: String,
    pub(crate) providers: Vec<String>,
    pub(crate) provider: usize,
    pub(crate) text: String,
}

impl std::fmt::Debug for KeyEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the key.
        f.debug_struct("KeyEntry")
            .field("option", &self.option)
            .finish_non_exhaustive()
    }
}

impl OnboardState {
    pub(crate) fn options(&self) -> &[OnboardOption] {
        self.options
            .as_ref()
            .map_or(&[], |it| it.options.as_slice())
    }

    pub(crate) fn step(&mut self, is_up: bool) {
        if let Some(key) = &mut self.key {
            let count = key.providers.len().max(1);
            let step = if is_up { count - 1 } else { 1 };
            key.provider = (key.provider + step) % count;
            return;
        }
        let last = self.options().len().saturating_sub(1);
        self.chosen = if is_up {
            self.chosen.saturating_sub(1)
        } else {
            (self.chosen + 1).min(last)
        };
    }

    /// What the chosen row asks the daemon for; `None` while a key is to be entered.
    pub(crate) fn choose(&mut self) -> Option<OnboardChooseParams> {
        if self.is_busy {
            return None;
        }
        if let Some(key) = &self.key {
            if key.text.trim().is_empty() {
                return None;
            }
            let params = OnboardChooseParams {
                option: key.option.clone(),
                provider: key.providers.get(key.provider).cloned(),
                key: Some(key.text.trim().to_owned()),
                model: None,
            };
            self.key = None;
            self.is_busy = true;
            return Some(params);
        }
        let option = self.options().get(self.chosen)?.clone();
        if option.kind == OnboardKind::Paste {
            self.key = Some(KeyEntry {
                option: option.id,
                providers: option.providers,
                ..KeyEntry::default()
            });
            return None;
        }
        self.is_busy = true;
        Some(OnboardChooseParams {
            option: option.id,
            ..OnboardChooseParams::default()
        })
    }

    pub(crate) fn wait(&mut self, now: u64) {
        self.waits_until = Some(now + ASK_AGAIN_MS);
    }

    pub(crate) fn stop_waiting(&mut self) {
        self.waits_until = None;
    }

    pub(crate) fn waits(&self) -> bool {
        self.waits_until.is_some()
    }

    /// Returns true when the daemon is to be asked whether the model is ready.
    pub(crate) fn asks_again(&mut self, now: u64) -> bool {
        let is_due = self.waits_until.is_some_and(|at| at <= now);
        if is_due {
            self.wait(now);
        }
        is_due
    }
}
