//! `hob package-files`: writes what a package holds beside the program: man pages, completions and
//! the systemd unit. All of it is derived from the program itself.

use super::completions;
use crate::autostart::unit::{self, UnitParts};
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree::{help_text::examples, man_page};
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// The program where a package puts it.
const PACKAGED_PROGRAM: &str = "/usr/bin/hob";
/// The files below the folder of a package.
const UNIT: &str = "lib/systemd/user/hob.service";
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions/hob"),
    (Shell::Zsh, "share/zsh/vendor-completions/_hob"),
    (Shell::Fish, "share/fish/vendor_completions.d/hob.fish"),
];

/// Writes man pages, completions and the unit of a package into a folder.
#[derive(Debug, clap::Args)]
#[command(hide = true, after_help = examples(&["hob package-files target/dist/usr"]))]
pub struct PackageFilesArgs {
    /// The folder that stands for /usr.
    folder: PathBuf,
}

pub fn run(context: &CommandContext, args: &PackageFilesArgs) -> Result<(), CommandFailure> {
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for (name, page) in man_page::pages() {
        files.push((format!("share/man/man1/{name}.1").into(), page.into_bytes()));
    }
    for (shell, path) in COMPLETIONS {
        files.push((path.into(), completions::script(shell)));
    }
    let unit = unit::unit(&UnitParts {
        program: PACKAGED_PROGRAM,
        ..UnitParts::default()
    });
    files.push((UNIT.into(), unit.into_bytes()));
    for (path, bytes) in files {
        write(&args.folder.join(&path), &bytes)?;
        context.terminal.line(path.display())?;
    }
    Ok(())
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), CommandFailure> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(file, bytes))
        .map_err(|error| {
            CommandFailure::failed(format!("'{}' cannot be written: {error}.", file.display()))
        })
}
