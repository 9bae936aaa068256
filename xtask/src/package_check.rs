//! Tries the packages: each is installed below a bare root, its program answers, and after its
//! removal nothing is left.
//!
//! The program is the debug build of the tests: what is tried is the packages, and a build as it is
//! shipped takes minutes.

use crate::dist::{self, DistPlan, Packages};
use crate::shell;
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::process::Command;

/// Files that each package holds, below its prefix.
const EXPECTED: [&str; 5] = [
    "bin/hob",
    "lib/systemd/user/hob.service",
    "share/bash-completion/completions/hob",
    "share/zsh/vendor-completions/_hob",
    "share/fish/vendor_completions.d/hob.fish",
];

/// Returns whether the packages of the debug build install and leave cleanly.
pub(crate) fn run(target: &Path) -> bool {
    shell::step("packages");
    let out = target.join("packages-trial");
    let tried = dist::pack(&DistPlan {
        program: target.join("debug/hob"),
        out: out.clone(),
        is_trial: true,
    })
    .and_then(|packages| {
        try_tarball(&packages, &out.join("home"))?;
        try_deb(&packages, &out.join("root"))
    });
    if let Err(error) = &tried {
        shell::warn(&format!("packages: {error:#}"));
    }
    let _ = std::fs::remove_dir_all(&out);
    tried.is_ok()
}

fn try_tarball(packages: &Packages, home: &Path) -> Result<()> {
    std::fs::create_dir_all(home)?;
    let install = |arguments: &[&str]| {
        let mut script = shell::program("sh");
        script
            .arg(packages.folder.join("install.sh"))
            .args(arguments);
        in_home(&mut script, home);
        script
    };
    let tarball = packages.tarball.display().to_string();
    // A file that was changed on its way is refused before anything is unpacked.
    let wrong = "0".repeat(64);
    ensure!(
        !shell::quietly(&mut install(&["--sha256", &wrong, &tarball])),
        "a wrong checksum was accepted"
    );
    ensure!(
        !home.join(".local").exists(),
        "a refused tarball left files"
    );
    shell::output(&mut install(&[&tarball]))?;
    check(&home.join(".local"), home)?;
    let unit = std::fs::read_to_string(home.join(".local/lib/systemd/user/hob.service"))?;
    let program = home.join(".local/bin/hob").display().to_string();
    ensure!(
        unit.contains(&program),
        "the unit starts another program:\n{unit}"
    );
    verify_unit(&home.join(".local/lib/systemd/user/hob.service"))?;
    // Once more over itself, as an update does.
    shell::output(&mut install(&[&tarball]))?;
    shell::output(&mut install(&["--uninstall"]))?;
    ensure_empty(&home.join(".local"))?;
    shell::say("tarball               installed and removed");
    Ok(())
}

fn try_deb(packages: &Packages, root: &Path) -> Result<()> {
    let is_root = shell::output(shell::program("id").arg("-u"))?.trim() == "0";
    if !is_root {
        if shell::in_ci() {
            bail!("dpkg needs root to install, also below a folder");
        }
        shell::warn("deb                   NOT RUN: dpkg needs root to install");
        return Ok(());
    }
    for folder in ["info", "updates", "triggers"] {
        std::fs::create_dir_all(root.join("var/lib/dpkg").join(folder))?;
    }
    for file in ["status", "available"] {
        std::fs::write(root.join("var/lib/dpkg").join(file), "")?;
    }
    let dpkg = |arguments: &[&str]| {
        let mut dpkg = shell::program("dpkg");
        // The root is bare: it holds no other package.
        dpkg.arg(format!("--root={}", root.display()))
            .arg("--force-depends")
            .args(arguments);
        shell::output(dpkg.env("DEBIAN_FRONTEND", "noninteractive"))
    };
    dpkg(&["-i", &packages.deb.display().to_string()])?;
    check(&root.join("usr"), root)?;
    let man = root.join("usr/share/man/man1/hob-ask.1.gz");
    let page = shell::output(shell::program("gzip").arg("-dc").arg(man))?;
    ensure!(
        page.starts_with(".TH \"HOB"),
        "the man page is odd:\n{page}"
    );
    dpkg(&["-P", "hob"])?;
    ensure_empty(&root.join("usr"))?;
    shell::say("deb                   installed and removed");
    Ok(())
}

/// Checks the files of a package, and that its program answers.
fn check(prefix: &Path, home: &Path) -> Result<()> {
    for file in EXPECTED {
        ensure!(prefix.join(file).is_file(), "{file} is missing");
    }
    let mut doctor = shell::program(prefix.join("bin/hob"));
    let said = shell::output(in_home(doctor.args(["help", "exit-codes"]), home))?;
    ensure!(said.contains("130"), "the program says: {said}");
    Ok(())
}

/// Fails naming the files that a removed package left.
fn ensure_empty(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let mut find = shell::program("find");
    let left = shell::output(find.arg(folder).args(["-type", "f"]))?;
    ensure!(left.is_empty(), "files are left:\n{left}");
    Ok(())
}

/// Lets systemd read the unit, where it is installed.
fn verify_unit(unit: &Path) -> Result<()> {
    if !shell::quietly(shell::program("systemd-analyze").arg("--version")) {
        shell::warn("unit                  NOT RUN: systemd-analyze is missing");
        return Ok(());
    }
    let mut verify = shell::program("systemd-analyze");
    verify.args(["verify", "--user", "--man=no"]).arg(unit);
    verify.env("XDG_RUNTIME_DIR", std::env::temp_dir());
    let verified = verify
        .output()
        .context("systemd-analyze cannot be started")?;
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    // Units of the machine have findings of their own.
    let ours = said.lines().any(|line| line.contains("hob.service"));
    ensure!(
        verified.status.success() && !ours,
        "systemd-analyze says:\n{said}"
    );
    Ok(())
}

/// Sets an empty home.
fn in_home<'c>(command: &'c mut Command, home: &Path) -> &'c mut Command {
    for name in shell::names()
        .iter()
        .filter(|name| name.starts_with("HOB_"))
    {
        command.env_remove(name);
    }
    command
        .env("HOME", home)
        .env_remove("PREFIX")
        .env("HOB_AUTOSTART", "0")
}
