//! Programs of the person's machine: which file a name means.

use crate::environment;
use hob_kit::world::Env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A program by its name, or by its path if it has one.
pub fn look_up(name: impl AsRef<OsStr>, env: &Env) -> Option<PathBuf> {
    let name = name.as_ref();
    if Path::new(name).components().count() > 1 {
        let path = Path::new(name);
        return is_program(path).then(|| path.to_owned());
    }
    let path = env
        .os("PATH")
        .unwrap_or(OsStr::new(environment::PATH_DEFAULT));
    find_in(path, name)
}

/// Looks a program up in a `PATH`.
pub fn find_in(path: &OsStr, name: impl AsRef<Path>) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name.as_ref()))
        .find(|program| is_program(program))
}

/// Whether it is a file that may be run.
pub fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
