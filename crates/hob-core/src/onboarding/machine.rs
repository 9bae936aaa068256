//! Carries out a choice, one effect at a time.

use super::facts::{DemoModel, OnboardingFacts, ProviderKey, ProviderKeyState};
use super::options::{OptionId, fitting};
use std::collections::VecDeque;

/// The service that serves the models of this machine.
const LOCAL_SERVICE: &str = "llm";

/// What a person chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnboardingChoice {
    /// The id of an option.
    pub option: String,
    /// The provider of a pasted key.
    pub provider: Option<String>,
    /// True if a key was pasted. The machine never sees the key.
    pub has_key: bool,
    /// A model of a server, if not its first.
    pub model: Option<String>,
}

/// An input of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnboardingEvent {
    /// The provider was asked with the pasted key.
    KeyTried(KeyTrial),
    /// The last effect succeeded.
    Done,
    /// The last effect failed, for this reason.
    Failed(String),
    /// The person left.
    Cancelled,
}

/// The result of trying a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyTrial {
    Accepted,
    /// The provider could not be reached, so the key may be right.
    Untried,
    Refused(String),
}

/// An action for the driver, which answers each but `Finish` with one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnboardingEffect {
    /// Ask the provider with the pasted key.
    TryKey {
        provider: String,
    },
    /// Keep the pasted key.
    StoreKey {
        provider: String,
    },
    /// Use the server at this address before the others.
    PreferServer {
        address: String,
    },
    /// Install the demo model.
    InstallDemo,
    /// Download a local model.
    PullModel {
        name: String,
    },
    /// Use this model from now on.
    SetDefault {
        model: String,
    },
    /// Ask no more.
    StopOffering,
    Finish(OnboardingEnd),
}

/// The end of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnboardingEnd {
    /// The model is ready.
    Ready {
        model: String,
    },
    /// The model is being installed or downloaded.
    Installing {
        model: String,
    },
    Declined,
    /// An effect failed; those before it stay.
    Failed(String),
    Cancelled,
}

/// The reason why a choice cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnboardingRefusal {
    UnknownOption,
    UnknownProvider,
    KeyInEnvironment,
    MissingKey,
    UnknownModel,
}

impl OnboardingRefusal {
    /// A sentence for the person.
    pub fn sentence(&self) -> &'static str {
        match self {
            OnboardingRefusal::UnknownOption => {
                "There is no such option now; `hob onboard` lists them."
            }
            OnboardingRefusal::UnknownProvider => "No key is needed for a provider of this name.",
            OnboardingRefusal::KeyInEnvironment => {
                "The environment of the daemon has a key of this provider, which wins over a pasted one."
            }
            OnboardingRefusal::MissingKey => "There is no key to keep.",
            OnboardingRefusal::UnknownModel => "The server does not have this model.",
        }
    }
}

/// The steps of one choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnboardingMachine {
    steps: VecDeque<OnboardingEffect>,
    end: OnboardingEnd,
    /// The effect that is under way.
    current: Option<OnboardingEffect>,
    is_over: bool,
}

impl OnboardingMachine {
    /// Plans a choice.
    pub fn new(
        facts: &OnboardingFacts,
        choice: &OnboardingChoice,
    ) -> Result<OnboardingMachine, OnboardingRefusal> {
        let id = OptionId::parse(&choice.option).ok_or(OnboardingRefusal::UnknownOption)?;
        let (mut steps, end) = match id {
            OptionId::Declined => (Vec::new(), OnboardingEnd::Declined),
            OptionId::Key(provider) => use_key(facts, provider)?,
            OptionId::Paste => paste_key(facts, choice)?,
            OptionId::Server(address) => use_server(facts, address, choice.model.as_deref())?,
            OptionId::Pull(name) => pull(facts, name)?,
            OptionId::Demo => use_demo(facts)?,
        };
        // Last, so that a choice that failed is offered again.
        steps.push(OnboardingEffect::StopOffering);
        Ok(OnboardingMachine {
            steps: steps.into(),
            end,
            current: None,
            is_over: false,
        })
    }

    /// Returns the first effect.
    pub fn begin(&mut self, out: &mut Vec<OnboardingEffect>) {
        if self.current.is_none() && !self.is_over {
            self.next(out);
        }
    }

    /// Handles an event and appends the next effect. An event after the end changes nothing.
    pub fn step(&mut self, event: OnboardingEvent, out: &mut Vec<OnboardingEffect>) {
        let Some(current) = self.current.take() else {
            return;
        };
        let tries_key = matches!(current, OnboardingEffect::TryKey { .. });
        match event {
            OnboardingEvent::KeyTried(KeyTrial::Refused(why)) | OnboardingEvent::Failed(why) => {
                self.finish(OnboardingEnd::Failed(why), out);
            }
            OnboardingEvent::Cancelled => self.finish(OnboardingEnd::Cancelled, out),
            OnboardingEvent::KeyTried(KeyTrial::Accepted | KeyTrial::Untried) if tries_key => {
                self.next(out);
            }
            OnboardingEvent::Done if !tries_key => self.next(out),
            // The answer to another effect.
            OnboardingEvent::KeyTried(_) | OnboardingEvent::Done => self.current = Some(current),
        }
    }

    fn next(&mut self, out: &mut Vec<OnboardingEffect>) {
        match self.steps.pop_front() {
            Some(effect) => {
                self.current = Some(effect.clone());
                out.push(effect);
            }
            None => self.finish(self.end.clone(), out),
        }
    }

    fn finish(&mut self, end: OnboardingEnd, out: &mut Vec<OnboardingEffect>) {
        self.is_over = true;
        self.steps.clear();
        out.push(OnboardingEffect::Finish(end));
    }
}

type Plan = Result<(Vec<OnboardingEffect>, OnboardingEnd), OnboardingRefusal>;

fn use_key(facts: &OnboardingFacts, provider: &str) -> Plan {
    let mut there = facts.keys.iter().filter(|key| key.is_there());
    let key = there
        .find(|key| key.provider == provider)
        .ok_or(OnboardingRefusal::UnknownOption)?;
    let is_first = facts.first_key() == Some(key);
    Ok(with_key(facts, key, is_first, Vec::new()))
}

fn paste_key(facts: &OnboardingFacts, choice: &OnboardingChoice) -> Plan {
    let provider = choice.provider.as_deref();
    let at = facts
        .keys
        .iter()
        .position(|key| Some(key.provider.as_str()) == provider);
    let at = at.ok_or(OnboardingRefusal::UnknownProvider)?;
    if facts.keys[at].state == ProviderKeyState::Environment {
        return Err(OnboardingRefusal::KeyInEnvironment);
    }
    if !choice.has_key {
        return Err(OnboardingRefusal::MissingKey);
    }
    let key = &facts.keys[at];
    let provider = || key.provider.clone();
    let steps = vec![
        OnboardingEffect::TryKey {
            provider: provider(),
        },
        OnboardingEffect::StoreKey {
            provider: provider(),
        },
    ];
    let is_first = !facts.keys[..at].iter().any(ProviderKey::is_there);
    Ok(with_key(facts, key, is_first, steps))
}

/// Sets the default only if another model would be used without it: a default that is not set
/// follows the recommendations of later versions.
fn with_key(
    facts: &OnboardingFacts,
    key: &ProviderKey,
    is_first: bool,
    mut steps: Vec<OnboardingEffect>,
) -> (Vec<OnboardingEffect>, OnboardingEnd) {
    let model = key.model_id();
    if facts.has_default || !is_first {
        steps.push(OnboardingEffect::SetDefault {
            model: model.clone(),
        });
    }
    (steps, OnboardingEnd::Ready { model })
}

fn use_server(facts: &OnboardingFacts, address: &str, wanted: Option<&str>) -> Plan {
    let at = facts.servers.iter().position(|it| it.address == address);
    let at = at.ok_or(OnboardingRefusal::UnknownOption)?;
    let server = &facts.servers[at];
    let model = match wanted {
        None => server.models.first(),
        Some(wanted) => server.models.iter().find(|model| *model == wanted),
    };
    let model = model.ok_or(OnboardingRefusal::UnknownModel)?;
    let id = format!("{LOCAL_SERVICE}/{model}");
    let mut steps = Vec::new();
    if at > 0 {
        steps.push(OnboardingEffect::PreferServer {
            address: address.to_owned(),
        });
    }
    let is_first = server.models.first() == Some(model);
    if facts.has_default || facts.first_key().is_some() || !is_first {
        steps.push(OnboardingEffect::SetDefault { model: id.clone() });
    }
    Ok((steps, OnboardingEnd::Ready { model: id }))
}

fn pull(facts: &OnboardingFacts, name: &str) -> Plan {
    let mut offered = fitting(facts).into_iter();
    let candidate = offered.find(|it| it.name == name);
    let name = candidate
        .ok_or(OnboardingRefusal::UnknownOption)?
        .name
        .clone();
    let step = OnboardingEffect::PullModel { name: name.clone() };
    Ok((vec![step], OnboardingEnd::Installing { model: name }))
}

fn use_demo(facts: &OnboardingFacts) -> Plan {
    let (model, mut steps) = match &facts.demo {
        _ if !facts.servers.is_empty() => return Err(OnboardingRefusal::UnknownOption),
        DemoModel::Installed { model } => (model, Vec::new()),
        DemoModel::Installable { model, .. } => (model, vec![OnboardingEffect::InstallDemo]),
        DemoModel::Unavailable => return Err(OnboardingRefusal::UnknownOption),
    };
    let id = format!("{LOCAL_SERVICE}/{model}");
    let installs = !steps.is_empty();
    if facts.has_default || facts.first_key().is_some() {
        steps.push(OnboardingEffect::SetDefault { model: id.clone() });
    }
    let end = if installs {
        OnboardingEnd::Installing { model: id }
    } else {
        OnboardingEnd::Ready { model: id }
    };
    Ok((steps, end))
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
