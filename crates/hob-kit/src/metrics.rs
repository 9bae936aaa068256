//! Figures that rooms keep of themselves, for whoever shows them: a room says once how its own are
//! read.
//!
//! Invariant: reading waits for nobody; a figure's name, help and kind are the same each time.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// One number and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// As Prometheus names things: `hob_terminals`.
    pub name: &'static str,
    pub help: &'static str,
    /// Whether it only ever grows.
    pub is_counter: bool,
    /// What tells it from others of its name, which follow it: `outcome` and `failed`.
    pub label: Option<(&'static str, &'static str)>,
    pub value: u64,
}

type Read = Box<dyn Fn() -> Vec<Figure> + Send + Sync>;

/// The figures of a house; cheap to clone.
#[derive(Clone, Default)]
pub struct Figures {
    // A std mutex: held to add a reader or to read numbers, never over an await.
    readers: Arc<Mutex<Vec<Read>>>,
}

impl Figures {
    /// Adds figures by how they are read.
    pub fn add(&self, read: impl Fn() -> Vec<Figure> + Send + Sync + 'static) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.push(Box::new(read));
    }

    /// All figures as they are now, in the order they were added.
    pub fn read(&self) -> Vec<Figure> {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.iter().flat_map(|read| read()).collect()
    }
}

impl fmt::Debug for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Figures").finish_non_exhaustive()
    }
}
