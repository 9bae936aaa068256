//! Checks the home: owner, permissions, and leftover files.

use hob_kit::home::Home;
use hob_wire::rooms::daemon::{DoctorFinding as Finding, FindingLevel};
use rustix::io::Errno;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub fn examine(home: &Home) -> Vec<Finding> {
    let mut findings = Vec::new();
    let directories = [
        home.root().to_owned(),
        home.run(),
        home.logs(),
        home.blobs(),
    ];
    for directory in &directories {
        findings.extend(permissions(directory, 0o077, "chmod 700"));
        findings.extend(writable(directory));
    }
    let files = [
        home.owner_token(),
        home.database(),
        home.config_file(),
        home.lock_file(),
    ];
    for file in &files {
        findings.extend(permissions(file, 0o077, "chmod 600"));
    }
    // The config file may be read-only: hob writes it only on request.
    let written = [home.database(), home.lock_file(), home.log_file()];
    findings.extend(written.iter().filter_map(|file| writable(file)));
    // A read-only file system gives the same finding for each file; one is enough.
    findings.dedup_by(|next, first| next.fix == first.fix);
    findings.extend(drafts(home));
    if findings.is_empty() {
        let message = format!("{} is yours and private", home.root().display());
        findings.push(Finding::well("home", message));
    }
    findings
}

/// Checks the owner and mode of a path; `None` when it does not exist.
fn permissions(path: &Path, forbidden: u32, command: &str) -> Option<Finding> {
    let found: Metadata = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => {
            let message = format!("{} cannot be read: {error}", path.display());
            let fix = "Check the permissions of the directories above it.";
            return Some(Finding::bad(FindingLevel::Broken, "home", message, fix));
        }
    };
    let shown = path.display();
    if found.uid() != rustix::process::getuid().as_raw() {
        let message = format!("{shown} belongs to another user");
        let fix = format!("sudo chown -R \"$USER\" '{shown}'");
        return Some(Finding::bad(FindingLevel::Broken, "home", message, fix));
    }
    if found.mode() & forbidden == 0 {
        return None;
    }
    let writable = found.mode() & 0o022 != 0;
    let (level, verb) = if writable {
        (FindingLevel::Broken, "write to")
    } else {
        (FindingLevel::Warning, "read")
    };
    let message = format!(
        "Others may {verb} {shown} (mode {:o})",
        found.mode() & 0o777
    );
    Some(Finding::bad(
        level,
        "home",
        message,
        format!("{command} '{shown}'"),
    ))
}

/// Checks with `access` that an existing path is writable; writes nothing.
pub fn writable(path: &Path) -> Option<Finding> {
    let error = rustix::fs::access(path, rustix::fs::Access::WRITE_OK).err()?;
    refused(path, error)
}

/// The finding for a path that is not writable; `None` when it does not exist.
pub fn refused(path: &Path, error: Errno) -> Option<Finding> {
    let fix = match error {
        Errno::NOENT => return None,
        Errno::ROFS => {
            "Mount its file system for writing, or set HOB_HOME to a folder that can be written."
                .to_owned()
        }
        _ => format!("chmod u+w '{}'", path.display()),
    };
    let reason = std::io::Error::from(error);
    let message = format!("{} cannot be written: {reason}", path.display());
    Some(Finding::bad(FindingLevel::Broken, "home", message, fix))
}

/// Finds draft files left by a crash. Complete files are renamed into place, so drafts are never
/// read.
fn drafts(home: &Home) -> Option<Finding> {
    let entries = std::fs::read_dir(home.root()).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_draft = |name: &String| {
        Path::new(name)
            .extension()
            .is_some_and(|end| end == "draft")
    };
    let drafts: Vec<String> = names.filter(is_draft).collect();
    if drafts.is_empty() {
        return None;
    }
    let message = format!("A crash left {} unfinished", drafts.join(", "));
    let fix = format!(
        "They are not used; remove them from {}.",
        home.root().display()
    );
    Some(Finding::bad(FindingLevel::Note, "home", message, fix))
}
