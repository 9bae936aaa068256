//! Which services there are and who keeps them. The home's files are read again when they have
//! changed and somebody asks.
//!
//! Invariants: a service has one keeper; one that runs is kept although its file is gone.

use super::Shared;
use super::handle::Handle;
use super::keeper::Keeper;
use hob_core::service::order::Needs;
use hob_services::{Shelf, Shelved};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// All services and their keepers.
#[derive(Debug, Default)]
pub(super) struct Roll {
    pub(super) shelf: Arc<Shelf>,
    pub(super) handles: BTreeMap<String, Handle>,
    stamp: Option<Stamp>,
}

/// What changes when a file of the folder does.
type Stamp = Vec<(std::ffi::OsString, u64, Option<SystemTime>)>;

impl Roll {
    /// Who needs whom, by name.
    pub(super) fn needs(&self) -> Needs {
        let resolved = |name: &String| {
            let found = self.shelf.find(name);
            found.map_or_else(|| name.clone(), |it| it.descriptor.name.clone())
        };
        let pairs = self.handles.iter().map(|(name, handle)| {
            let shelved = handle.slot.get();
            let needs = shelved.descriptor.needs.iter().map(resolved);
            (name.clone(), needs.collect())
        });
        pairs.collect()
    }

    /// The keeper of a name or alias.
    pub(super) fn find(&self, name: &str) -> Option<(Arc<Shelved>, Handle)> {
        let found = self.shelf.find(name);
        let name = found.map_or(name, |it| it.descriptor.name.as_str());
        let handle = self.handles.get(name)?;
        Some((handle.slot.get(), handle.clone()))
    }

    fn settle(&mut self, shared: &Arc<Shared>, read: Shelf, stamp: Stamp) {
        for shelved in read.services() {
            let name = &shelved.descriptor.name;
            let shelved = Arc::new(shelved.clone());
            if let Some(handle) = self.handles.get(name) {
                handle.slot.set(shelved);
            } else {
                let handle = Keeper::begin(shared, shelved);
                self.handles.insert(name.clone(), handle);
            }
        }
        self.handles
            .retain(|name, handle| read.find(name).is_some() || !handle.rests());
        self.shelf = Arc::new(read);
        self.stamp = Some(stamp);
    }
}

impl Shared {
    /// Reads the home's files if they have changed.
    pub(super) async fn refresh(self: &Arc<Self>) {
        let home = self.parts.home.clone();
        let known = self.roll().stamp.clone();
        let look = move || {
            let stamp = stamp(&home.service_files());
            (known.as_ref() != Some(&stamp)).then(|| (Shelf::read(&home), stamp))
        };
        let looked = tokio::task::spawn_blocking(look).await;
        if let Ok(Some((shelf, stamp))) = looked {
            self.roll().settle(self, shelf, stamp);
            self.changed.notify_one();
        }
    }
}

fn stamp(folder: &Path) -> Stamp {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut stamp: Stamp = entries
        .map(|entry| {
            // Through links: a file may lie elsewhere.
            let about = std::fs::metadata(entry.path()).ok();
            let length = about.as_ref().map_or(0, std::fs::Metadata::len);
            (
                entry.file_name(),
                length,
                about.and_then(|it| it.modified().ok()),
            )
        })
        .collect();
    stamp.sort();
    stamp
}
