//! Finds programs by name, as a shell does.

use crate::environment;
use hob_kit::host_environment::EnvVars;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Finds a program by its name in `PATH`, or by its path if the name contains a slash.
pub fn find_program(name: impl AsRef<OsStr>, env: &EnvVars) -> Option<PathBuf> {
    let name = name.as_ref();
    if Path::new(name).components().count() > 1 {
        let path = Path::new(name);
        return is_executable(path).then(|| path.to_owned());
    }
    let path = env
        .os("PATH")
        .unwrap_or(OsStr::new(environment::PATH_DEFAULT));
    find_in_path(path, name)
}

/// Finds a program in a `PATH`.
pub fn find_in_path(path: &OsStr, name: impl AsRef<Path>) -> Option<PathBuf> {
    std::env::split_paths(path)
        // A relative folder would depend on where the daemon runs, and a workspace could fill it.
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name.as_ref()))
        .find(|program| is_executable(program))
}

/// Returns true for a file with an execute bit.
pub fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
