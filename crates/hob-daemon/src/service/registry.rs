//! All services and their owners. The definition files of the home are read again when they have
//! changed and a request comes.
//!
//! Invariants: a service has one owner; a running service stays although its file is gone.

use super::ServiceContext;
use super::handle::ServiceOwnerHandle;
use super::owner::ServiceOwner;
use hob_core::service::dependency_order::ServiceDependencies;
use hob_services::{CatalogService, ServiceCatalog};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// All services and the handles to their owners.
#[derive(Debug, Default)]
pub(super) struct ServiceRegistry {
    pub(super) catalog: Arc<ServiceCatalog>,
    pub(super) handles: BTreeMap<String, ServiceOwnerHandle>,
    stamp: Option<FolderStamp>,
}

/// Names, sizes and times of a folder's files. It changes when a file does.
type FolderStamp = Vec<(std::ffi::OsString, u64, Option<SystemTime>)>;

impl ServiceRegistry {
    /// Returns the needs of each service, with aliases resolved.
    pub(super) fn needs(&self) -> ServiceDependencies {
        let resolved = |name: &String| {
            let found = self.catalog.find(name);
            found.map_or_else(|| name.clone(), |it| it.descriptor.name.clone())
        };
        let pairs = self.handles.iter().map(|(name, handle)| {
            let service = handle.definition.get();
            let needs = service.descriptor.needs.iter().map(resolved);
            (name.clone(), needs.collect())
        });
        pairs.collect()
    }

    /// Returns the definition and the handle of a name or alias.
    pub(super) fn find(&self, name: &str) -> Option<(Arc<CatalogService>, ServiceOwnerHandle)> {
        let found = self.catalog.find(name);
        let name = found.map_or(name, |it| it.descriptor.name.as_str());
        let handle = self.handles.get(name)?;
        Some((handle.definition.get(), handle.clone()))
    }

    fn apply_files(
        &mut self,
        context: &Arc<ServiceContext>,
        catalog: ServiceCatalog,
        stamp: FolderStamp,
    ) {
        for service in catalog.services() {
            let name = &service.descriptor.name;
            let service = Arc::new(service.clone());
            if let Some(handle) = self.handles.get(name) {
                handle.definition.set(service);
            } else {
                let handle = ServiceOwner::spawn(context, service);
                self.handles.insert(name.clone(), handle);
            }
        }
        self.handles
            // Dropping a handle ends its owner, so one of a running service stays.
            .retain(|name, handle| catalog.find(name).is_some() || !handle.is_at_rest());
        self.catalog = Arc::new(catalog);
        self.stamp = Some(stamp);
    }
}

impl ServiceContext {
    /// Reads the definition files if they have changed.
    pub(super) async fn refresh(self: &Arc<Self>) {
        let _only = self.refreshing.lock().await;
        let home = self.deps.home.clone();
        let listeners = self.listeners.clone();
        let known = self.registry().stamp.clone();
        let look = move || {
            let stamp = stamp(&home.service_files());
            // Stamped before reading: a change in between causes another read and is not missed.
            let is_changed = known.as_ref() != Some(&stamp);
            is_changed.then(|| (ServiceCatalog::read(&home, &listeners), stamp))
        };
        let changed = tokio::task::spawn_blocking(look).await;
        if let Ok(Some((catalog, stamp))) = changed {
            self.registry().apply_files(self, catalog, stamp);
            self.changed.notify_one();
        }
    }
}

fn stamp(folder: &Path) -> FolderStamp {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut stamp: FolderStamp = entries
        .map(|entry| {
            // Follows links, so that a change of a linked file is seen.
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
