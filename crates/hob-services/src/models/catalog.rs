//! A short catalogue of models for this machine, as data: well-known instruct models as one GGUF
//! file each, which llama.cpp's server runs. Pure.
//!
//! The sizes are those that other projects recorded for these files; hob's tests cannot reach the
//! hub. They serve to choose a model. A download asks the hub for size and SHA-256 again.
//!
//! Invariants: names are unique and are spelled like a setting; the best model comes first; every
//! entry is one whole file.

/// A model of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogModel {
    /// The name for `hob model pull`.
    pub name: &'static str,
    /// A few words for a person who chooses.
    pub about: &'static str,
    /// `OWNER/REPOSITORY` on the hub.
    pub repository: &'static str,
    pub file: &'static str,
    pub licence: &'static str,
    /// True if the model was trained to call tools.
    pub tools: bool,
    /// The expected size of the file; the hub has the last word.
    pub bytes: u64,
    /// An estimate of the memory in use while it answers: the file, the context of 4,096 tokens and
    /// the server.
    pub memory_bytes: u64,
    /// The day on which name, file, size and licence were looked up.
    pub checked: &'static str,
}

/// What a machine offers to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineRoom {
    /// All memory of the machine.
    pub memory_bytes: u64,
    /// The free space on the disk of the model folder.
    pub disk_bytes: u64,
}

/// Memory that stays for the rest of the machine.
pub const MEMORY_RESERVE_BYTES: u64 = GB;
/// Free space that must remain on the disk after a download.
pub const DISK_RESERVE_BYTES: u64 = GB;

const GB: u64 = 1_000_000_000;
const APACHE: &str = "Apache-2.0";
const CHECKED: &str = "2026-11-19";

/// All models, best first. The order weighs the answers against the time they take on a processor
/// without a graphics card, so the largest model is not the first.
pub const MODELS: &[CatalogModel] = &[
    CatalogModel {
        name: "qwen3-4b",
        about: "Qwen3 4B Instruct 2507: good answers, uses tools",
        repository: "unsloth/Qwen3-4B-Instruct-2507-GGUF",
        file: "Qwen3-4B-Instruct-2507-Q4_K_M.gguf",
        licence: APACHE,
        tools: true,
        bytes: 2_497_281_120,
        memory_bytes: 3_700_000_000,
        checked: CHECKED,
    },
    CatalogModel {
        name: "qwen3-8b",
        about: "Qwen3 8B: better answers, thinks first, slower",
        repository: "Qwen/Qwen3-8B-GGUF",
        file: "Qwen3-8B-Q4_K_M.gguf",
        licence: APACHE,
        tools: true,
        bytes: 5_027_783_488,
        memory_bytes: 6_300_000_000,
        checked: CHECKED,
    },
    CatalogModel {
        name: "llama3.1-8b",
        about: "Llama 3.1 8B Instruct: broad knowledge, uses tools, slower",
        repository: "bartowski/Meta-Llama-3.1-8B-Instruct-GGUF",
        file: "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf",
        licence: "Llama 3.1 Community License",
        tools: true,
        bytes: 4_920_739_232,
        memory_bytes: 6_200_000_000,
        checked: CHECKED,
    },
    CatalogModel {
        name: "llama3.2-3b",
        about: "Llama 3.2 3B Instruct: quick, simple tools",
        repository: "bartowski/Llama-3.2-3B-Instruct-GGUF",
        file: "Llama-3.2-3B-Instruct-Q4_K_M.gguf",
        licence: "Llama 3.2 Community License",
        tools: true,
        bytes: 2_019_377_600,
        memory_bytes: 3_100_000_000,
        checked: CHECKED,
    },
    CatalogModel {
        name: "qwen2.5-1.5b",
        about: "Qwen2.5 1.5B Instruct: small and quick, simple tools",
        repository: "Qwen/Qwen2.5-1.5B-Instruct-GGUF",
        file: "qwen2.5-1.5b-instruct-q4_k_m.gguf",
        licence: APACHE,
        tools: true,
        bytes: 1_117_320_736,
        memory_bytes: 1_900_000_000,
        checked: CHECKED,
    },
    CatalogModel {
        name: "smollm2-1.7b",
        about: "SmolLM2 1.7B Instruct: small, no tools",
        repository: "bartowski/SmolLM2-1.7B-Instruct-GGUF",
        file: "SmolLM2-1.7B-Instruct-Q4_K_M.gguf",
        licence: APACHE,
        tools: false,
        bytes: 1_055_609_824,
        memory_bytes: 2_500_000_000,
        checked: CHECKED,
    },
];

/// Finds a model by its name.
pub fn find(name: &str) -> Option<&'static CatalogModel> {
    MODELS.iter().find(|model| model.name == name)
}

/// The models that fit this machine, best first.
pub fn candidates(room: MachineRoom) -> Vec<&'static CatalogModel> {
    MODELS.iter().filter(|model| model.fits(room)).collect()
}

impl CatalogModel {
    /// Returns true if the machine has the memory to run the model and the disk to keep it.
    pub fn fits(&self, room: MachineRoom) -> bool {
        self.fits_memory(room) && self.bytes + DISK_RESERVE_BYTES <= room.disk_bytes
    }

    pub fn fits_memory(&self, room: MachineRoom) -> bool {
        self.memory_bytes + MEMORY_RESERVE_BYTES <= room.memory_bytes
    }
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
