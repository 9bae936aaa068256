//! The session of `hob chat` in a folder. Pure.
//!
//! Invariant: a folder always has the same session, and two folders with one name have two.

use std::path::Path;

/// The session of the home folder, and of a daemon elsewhere, which has no folder here.
pub const MAIN_SESSION: &str = "chat:main";
/// The most characters of the folder's name in the key.
const NAME_CHARS_MAX: usize = 32;

/// The key of the folder's session: `chat:hob-3f9a01cc`.
pub fn key(folder: Option<&str>, home: Option<&Path>) -> String {
    let Some(folder) = folder.map(Path::new) else {
        return MAIN_SESSION.to_owned();
    };
    if Some(folder) == home {
        return MAIN_SESSION.to_owned();
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let plain = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    let letters = name.chars().take(NAME_CHARS_MAX);
    let name: String = letters.filter(|letter| plain(*letter)).collect();
    let name = if name.is_empty() { "folder" } else { &name };
    format!("chat:{name}-{}", digest(folder))
}

/// Eight letters that tell this folder from others of its name.
pub fn digest(folder: &Path) -> String {
    format!("{:08x}", fnv1a(folder.as_os_str().as_encoded_bytes()))
}

/// FNV-1a: short and the same for ever. It tells folders of one name apart, and keeps no secret.
fn fnv1a(bytes: &[u8]) -> u32 {
    const OFFSET: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    bytes.iter().fold(OFFSET, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
#[path = "folder_session_tests.rs"]
mod tests;
