//! `cargo xtask dist`: the packages of hob, a tarball and a `.deb`, with their checksums and the
//! install script.
//!
//! Invariant: everything in a package but the program and the licences is written by the program
//! itself (`hob package-files`), so that no page can be older than it.

use crate::shell;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// The libraries that the program is linked with.
const DEPENDS: &str = "libc6 (>= 2.34), libgcc-s1";
/// Programs that some commands use.
const RECOMMENDS: &str = "bubblewrap, tmux";
const SUGGESTS: &str = "espeak-ng, python3-pip";
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];
const INSTALL_SCRIPT: &str = "packaging/install.sh";

/// The packages of one build.
#[derive(Debug)]
pub(crate) struct Packages {
    pub(crate) folder: PathBuf,
    pub(crate) tarball: PathBuf,
    pub(crate) deb: PathBuf,
}

/// The program to pack, and how.
pub(crate) struct DistPlan {
    pub(crate) program: PathBuf,
    pub(crate) out: PathBuf,
    /// Compresses little: the packages are made to be tried, not to be shipped.
    pub(crate) is_trial: bool,
}

pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    if !arguments.is_empty() {
        bail!("dist takes no arguments");
    }
    let target = Workspace::load()?.target;
    let mut build = shell::cargo();
    build.args(["build", "--profile", "dist", "-p", "hob", "--locked"]);
    if !shell::succeeds(&mut build)? {
        return Ok(false);
    }
    let packages = pack(&DistPlan {
        program: target.join("dist/hob"),
        out: target.join("packages"),
        is_trial: false,
    })?;
    shell::say(&shell::output(
        shell::program("ls").arg("-l").arg(&packages.folder),
    )?);
    Ok(true)
}

/// Makes the packages of a program.
pub(crate) fn pack(plan: &DistPlan) -> Result<Packages> {
    let version = version(&plan.program)?;
    let arch = std::env::consts::ARCH;
    let name = format!("hob-{version}-{arch}-linux");
    let _ = std::fs::remove_dir_all(&plan.out);
    let tree = plan.out.join("tree").join(&name);
    stage(plan, &tree)?;
    let tarball = plan.out.join(format!("{name}.tar.gz"));
    let level = if plan.is_trial { "-1" } else { "-9" };
    let mut tar = shell::program("tar");
    tar.arg("-C").arg(plan.out.join("tree"));
    tar.args(["--owner=0", "--group=0", "--sort=name", "-I"])
        .arg(format!("gzip -n {level}"));
    must(tar.arg("-cf").arg(&tarball).arg(&name))?;
    let deb = deb(plan, &tree, &version)?;
    std::fs::copy(
        shell::root().join(INSTALL_SCRIPT),
        plan.out.join("install.sh"),
    )?;
    std::fs::remove_dir_all(plan.out.join("tree"))?;
    let mut sums = shell::program("sha256sum");
    sums.current_dir(&plan.out).arg("install.sh");
    sums.args([&tarball, &deb].map(|file| file.file_name().unwrap_or_default()));
    std::fs::write(plan.out.join("SHA256SUMS"), shell::output(&mut sums)?)?;
    Ok(Packages {
        folder: plan.out.clone(),
        tarball,
        deb,
    })
}

/// Lays out the tree that stands for `/usr`.
fn stage(plan: &DistPlan, tree: &Path) -> Result<()> {
    let bin = tree.join("bin");
    std::fs::create_dir_all(&bin)?;
    let program = bin.join("hob");
    std::fs::copy(&plan.program, &program).context("cannot copy the program")?;
    if plan.is_trial {
        // A debug build is ten times as large with its symbols; without strip(1) it stays so.
        shell::quietly(shell::program("strip").arg(&program));
    }
    must(shell::program(&plan.program).arg("package-files").arg(tree))?;
    let doc = tree.join("share/doc/hob");
    std::fs::create_dir_all(&doc)?;
    for licence in LICENCES {
        std::fs::copy(shell::root().join(licence), doc.join(licence))?;
    }
    let copyright = "hob is licensed under MIT or Apache-2.0, at your choice.\n";
    std::fs::write(doc.join("copyright"), copyright)?;
    Ok(())
}

fn deb(plan: &DistPlan, tree: &Path, version: &str) -> Result<PathBuf> {
    let arch = shell::output(shell::program("dpkg").arg("--print-architecture"))?;
    let arch = arch.trim();
    let root = plan.out.join("tree/deb");
    std::fs::create_dir_all(root.join("DEBIAN"))?;
    must(
        shell::program("cp")
            .arg("-a")
            .arg(tree)
            .arg(root.join("usr")),
    )?;
    must(
        shell::program("find")
            .arg(root.join("usr/share/man"))
            .args(["-type", "f", "-exec", "gzip", "-n9", "{}", "+"]),
    )?;
    let size = shell::output(shell::program("du").args(["-sk"]).arg(root.join("usr")))?;
    let size = size.split_whitespace().next().unwrap_or("0");
    let control = format!(
        "Package: hob\nVersion: {version}\nArchitecture: {arch}\nMaintainer: The hob project <hob@localhost>\n\
         Installed-Size: {size}\nDepends: {DEPENDS}\nRecommends: {RECOMMENDS}\n\
         Suggests: {SUGGESTS}\nSection: utils\nPriority: optional\n\
         Description: local-first agent runtime in one binary\n\
         \x20A daemon on your machine stores your conversations, calls the model you\n\
         \x20choose and runs the tools you allow.\n"
    );
    std::fs::write(root.join("DEBIAN/control"), control)?;
    let deb = plan.out.join(format!("hob_{version}_{arch}.deb"));
    let mut build = shell::program("dpkg-deb");
    build.args(if plan.is_trial {
        ["-Zgzip", "-z1"]
    } else {
        ["-Zxz", "-z9"]
    });
    build
        .args(["--root-owner-group", "--build"])
        .arg(&root)
        .arg(&deb);
    shell::output(&mut build)?;
    Ok(deb)
}

/// The version that the program tells: `hob 0.1.0`.
fn version(program: &Path) -> Result<String> {
    let line = shell::output(shell::program(program).arg("--version"))?;
    let version = line.split_whitespace().nth(1).map(str::to_owned);
    version.context("the program tells no version")
}

/// Runs a command that must succeed, without its output.
fn must(command: &mut std::process::Command) -> Result<()> {
    shell::output(command).map(drop)
}
