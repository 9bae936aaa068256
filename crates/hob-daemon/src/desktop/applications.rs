//! The applications of a machine, and finding one by the name that people use.
//!
//! Invariant: of several files with one id the first folder wins, as the specification says; a
//! hidden one hides the others too.

use super::entry::ApplicationEntry;
use hob_exec::find_program;
use hob_kit::host_environment::EnvVars;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Limits on what is read.
const FILES_MAX: usize = 8_192;
const FILE_BYTES_MAX: u64 = 256 * 1_024;
const DEPTH_MAX: usize = 4;
/// Shorter names must match exactly.
const FUZZY_LETTERS_MIN: usize = 4;
/// The similarity, from 0 to 1, from which two names count as the same.
const SIMILARITY_MIN: f64 = 0.84;

/// Returns the folders with desktop entries, in order of precedence.
pub(super) fn folders(env: &EnvVars) -> Vec<PathBuf> {
    let home = env.os("HOME").map(PathBuf::from);
    let of_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let data = env
        .os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| of_home(".local/share"));
    let shared = env
        .os("XDG_DATA_DIRS")
        .unwrap_or(OsStr::new("/usr/local/share:/usr/share"));
    let mut bases: Vec<PathBuf> = data
        .into_iter()
        .chain(std::env::split_paths(shared))
        .collect();
    bases.extend(of_home(".local/share/flatpak/exports/share"));
    bases.push("/var/lib/flatpak/exports/share".into());
    bases.extend(of_home(".nix-profile/share"));
    let mut folders: Vec<PathBuf> = bases
        .into_iter()
        .map(|base| base.join("applications"))
        .collect();
    folders.push("/var/lib/snapd/desktop/applications".into());
    // The XDG specification says to ignore relative paths.
    folders.retain(|folder| folder.is_absolute());
    let mut seen = std::collections::BTreeSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

/// Returns every application by its id, without hidden ones.
pub(super) fn entries(env: &EnvVars) -> BTreeMap<String, ApplicationEntry> {
    let language = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .iter()
        .find_map(|name| env.text(name));
    // `de_DE.UTF-8@euro` is searched for as `de_DE`.
    let language = language.and_then(|language| language.split(['.', '@']).next());
    let mut found = BTreeMap::new();
    for folder in folders(env) {
        let mut files = Vec::new();
        collect_files(&folder, DEPTH_MAX, &mut files);
        for file in files {
            let Some(id) = id_of(&folder, &file) else {
                continue;
            };
            if let Some(entry) = read(&file, &id, language) {
                found.entry(id).or_insert(entry);
            }
        }
    }
    // Only now: until here a hidden entry keeps later folders from adding its id.
    found.retain(|_, entry| !entry.hidden);
    found
}

fn collect_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(inside) = std::fs::read_dir(folder) else {
        return;
    };
    for item in inside.flatten() {
        if files.len() >= FILES_MAX {
            return;
        }
        let path = item.path();
        if path.is_dir() {
            // The depth is limited, because links may form a circle.
            if depth > 1 {
                collect_files(&path, depth - 1, files);
            }
        } else if path.extension() == Some(OsStr::new("desktop")) {
            files.push(path);
        }
    }
}

fn id_of(folder: &Path, file: &Path) -> Option<String> {
    let below = file.strip_prefix(folder).ok()?.to_str()?;
    Some(below.strip_suffix(".desktop")?.replace('/', "-"))
}

fn read(file: &Path, id: &str, language: Option<&str>) -> Option<ApplicationEntry> {
    let plain =
        std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= FILE_BYTES_MAX);
    let text = plain.then(|| std::fs::read(file).ok()).flatten()?;
    ApplicationEntry::read(&String::from_utf8_lossy(&text), id, file, language)
}

/// Finds the application that best matches a name.
pub(super) fn find(name: &str, env: &EnvVars) -> Option<ApplicationEntry> {
    let wanted = name.trim().to_lowercase();
    let wanted = wanted.strip_suffix(".desktop").unwrap_or(&wanted);
    if wanted.is_empty() {
        return None;
    }
    let installed = |entry: &ApplicationEntry| {
        let program = entry.try_exec.as_deref();
        program.is_none_or(|program| find_program(program, env).is_some())
    };
    let entries = entries(env).into_values();
    let shown = entries.filter(|entry| !entry.no_display && installed(entry));
    let ranked = shown.filter_map(|entry| Some((rank(&entry, wanted)?, entry)));
    // Ties go to the shorter name: "Firefox" before "Firefox Private Window".
    let best = ranked.min_by(|(one, first), (other, second)| {
        one.cmp(other)
            .then(first.name.chars().count().cmp(&second.name.chars().count()))
            .then(first.id.cmp(&second.id))
    });
    best.map(|(_, entry)| entry)
}

/// Ranks an application against a name: lower is better, none is no match.
fn rank(entry: &ApplicationEntry, wanted: &str) -> Option<u32> {
    let names: Vec<String> = [Some(&entry.name), entry.local_name.as_ref()]
        .into_iter()
        .flatten()
        .map(|name| name.to_lowercase())
        .collect();
    let id = entry.id.to_lowercase();
    let last = id.rsplit('.').next().unwrap_or(&id).to_owned();
    let generic = entry
        .generic_name
        .as_deref()
        .unwrap_or_default()
        .to_lowercase();
    let program = entry.program().unwrap_or_default().to_lowercase();
    if id == wanted || names.iter().any(|name| name == wanted) {
        return Some(0);
    }
    if last == wanted {
        return Some(1);
    }
    if names.iter().any(|name| contains_whole_words(name, wanted)) {
        return Some(2);
    }
    if contains_whole_words(&generic, wanted) {
        return Some(3);
    }
    if program == wanted || contains_whole_words(&program, wanted) {
        return Some(4);
    }
    if wanted.chars().count() < FUZZY_LETTERS_MIN {
        return None;
    }
    let all = names
        .iter()
        .chain([&last, &generic, &program])
        .filter(|name| !name.is_empty());
    let best = all
        .map(|name| strsim::normalized_damerau_levenshtein(name, wanted))
        .fold(0.0, f64::max);
    (best >= SIMILARITY_MIN || is_one_typo_away(&names, wanted)).then_some(5)
}

/// Returns true if `name` contains `wanted` as whole words.
fn contains_whole_words(name: &str, wanted: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    name.match_indices(wanted).any(|(at, part)| {
        edge(name[..at].chars().next_back()) && edge(name[at + part.len()..].chars().next())
    })
}

/// Returns true if one typo (an extra, missing, wrong or swapped letter) separates the names. Names
/// of fewer than four letters never match this way.
fn is_one_typo_away(names: &[String], wanted: &str) -> bool {
    names.iter().any(|name| {
        name.chars().count() >= FUZZY_LETTERS_MIN && strsim::damerau_levenshtein(name, wanted) == 1
    })
}

#[cfg(test)]
#[path = "applications_tests.rs"]
mod tests;
