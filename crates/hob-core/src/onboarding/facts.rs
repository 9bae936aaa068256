//! What was found on the machine.

/// Everything the options depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnboardingFacts {
    /// The providers that need a key, in order of preference.
    pub keys: Vec<ProviderKey>,
    /// The model servers that run as the same user, in the order they are preferred.
    pub servers: Vec<RunningServer>,
    /// The local models that could be downloaded, best first.
    pub candidates: Vec<LocalModelCandidate>,
    pub room: MachineRoom,
    pub demo: DemoModel,
    /// True if the person configured a default model.
    pub has_default: bool,
}

/// A provider that needs a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderKey {
    pub provider: String,
    /// The environment variable of its key.
    pub variable: String,
    /// Its default model, by its own name.
    pub model: String,
    pub state: ProviderKeyState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKeyState {
    Missing,
    /// In the environment.
    Environment,
    /// Pasted earlier.
    Kept,
}

/// A model server that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningServer {
    /// `HOST:PORT`, or a word for a model that hob starts itself.
    pub address: String,
    /// Its name and address, for people.
    pub what: String,
    /// Its chat models, the loaded one first. Not empty.
    pub models: Vec<String>,
}

/// A local model that can be downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalModelCandidate {
    pub name: String,
    /// The bytes to download.
    pub bytes: u64,
    /// The memory it needs, in bytes.
    pub memory: u64,
    /// True if it can use tools.
    pub tools: bool,
    pub licence: String,
}

/// The whole memory and the free disk space of the machine, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineRoom {
    pub memory_bytes: u64,
    pub disk_bytes: u64,
}

/// The state of the demo model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DemoModel {
    Installed {
        model: String,
    },
    Installable {
        model: String,
        download_bytes: u64,
        licence: String,
    },
    /// It cannot be installed here.
    #[default]
    Unavailable,
}

impl OnboardingFacts {
    /// The provider that is used without a choice: the first one with a key.
    pub(super) fn first_key(&self) -> Option<&ProviderKey> {
        self.keys.iter().find(|key| key.is_there())
    }
}

impl ProviderKey {
    pub fn is_there(&self) -> bool {
        self.state != ProviderKeyState::Missing
    }

    /// `provider/model`.
    pub fn model_id(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}
