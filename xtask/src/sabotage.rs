//! Patches that break hob on purpose, each for one fault: they prove that a fault test can fail.
//!
//! A patch is a file `NN-what-breaks.patch` for fault NN: a sentence that says what it breaks, an
//! optional line `Tests: f04_a, f04_b`, and a diff. Without that line it must turn every test of its
//! fault red.
//!
//! Invariant: a patch is applied to a copy of the project only, in the target folder.

use crate::faults::{self, FaultTest};
use crate::shell;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "crates/hob/tests/sabotage";
/// Patches that `cargo xtask test` builds; another commit builds others.
const BUILT_IN_TEST: usize = 3;

/// A file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SabotagePatch {
    pub(crate) number: u32,
    /// The name of the file, without its ending.
    pub(crate) name: String,
    /// A sentence that says what it breaks.
    pub(crate) sentence: String,
    /// The tests that must go red; empty for all of this fault.
    tests: Vec<String>,
}

impl SabotagePatch {
    fn parse(name: &str, text: &str) -> Result<SabotagePatch> {
        let number = name
            .split('-')
            .next()
            .and_then(|digits| digits.parse().ok());
        let number = number.with_context(|| format!("{name}.patch has no number of a fault"))?;
        let (head, _) = text
            .split_once("\ndiff --git ")
            .with_context(|| format!("{name}.patch has no diff"))?;
        let mut lines = head.lines();
        let sentence = lines.next().unwrap_or_default().to_owned();
        if !sentence.ends_with('.') {
            bail!("{name}.patch does not say in its first line what it breaks");
        }
        let tests = lines.find_map(|line| line.strip_prefix("Tests: "));
        let tests = tests.into_iter().flat_map(|names| names.split(", "));
        Ok(SabotagePatch {
            number,
            name: name.to_owned(),
            sentence,
            tests: tests.map(str::to_owned).collect(),
        })
    }

    /// Returns true if the patch must turn this test red.
    pub(crate) fn covers(&self, fault: &FaultTest) -> bool {
        self.number == fault.number && (self.tests.is_empty() || self.tests.contains(&fault.test))
    }

    fn path(&self) -> PathBuf {
        shell::root()
            .join(FOLDER)
            .join(format!("{}.patch", self.name))
    }
}

/// Reads all patches, in the order of their numbers.
pub(crate) fn read_patches() -> Result<Vec<SabotagePatch>> {
    let folder = shell::root().join(FOLDER);
    let entries =
        std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut patches = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        patches.push(SabotagePatch::parse(&name, &text)?);
    }
    patches.sort_by(|a, b| (a.number, &a.name).cmp(&(b.number, &b.name)));
    Ok(patches)
}

/// Returns the tests that no patch covers.
pub(crate) fn uncovered<'a>(
    faults: &'a [FaultTest],
    patches: &[SabotagePatch],
) -> Vec<&'a FaultTest> {
    let is_covered = |fault: &FaultTest| patches.iter().any(|patch| patch.covers(fault));
    faults.iter().filter(|fault| !is_covered(fault)).collect()
}

/// The patches to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchSelection {
    /// A few, chosen by the commit.
    ByCommit,
    All,
}

/// Checks that each patch belongs to a fault and applies, and that the selected ones build.
pub(crate) fn check(target: &Path, selection: PatchSelection) -> Result<bool> {
    shell::step("sabotage patches");
    let mut git = shell::program("git");
    let Ok(commit) = shell::output(git.args(["rev-parse", "HEAD"])) else {
        let advice = "The sabotage patches need git and a clone of the project.";
        if shell::in_ci() {
            bail!(advice);
        }
        shell::warn(&format!("NOT RUN {advice}"));
        return Ok(true);
    };
    let (faults, patches) = (faults::read_faults()?, read_patches()?);
    let problems = find_problems(&faults, &patches);
    for problem in &problems {
        shell::warn(problem);
    }
    for fault in uncovered(&faults, &patches) {
        shell::say(&format!("{} has no sabotage", fault.test));
    }
    let tree = SabotageTree::new(target);
    tree.reset()?;
    let stale: Vec<&SabotagePatch> = patches.iter().filter(|it| !tree.takes(it)).collect();
    for patch in &stale {
        shell::warn(&format!(
            "{}.patch no longer applies: make it anew with `git diff -U2`",
            patch.name
        ));
    }
    if !problems.is_empty() || !stale.is_empty() {
        return Ok(false);
    }
    let selected = match selection {
        PatchSelection::All => patches.iter().collect(),
        PatchSelection::ByCommit => choose(&patches, commit.trim(), BUILT_IN_TEST),
    };
    tree.check_all(selected, target)
}

/// Returns a sentence for each patch without a fault, and for each test of a patch that is not in
/// the table.
fn find_problems(faults: &[FaultTest], patches: &[SabotagePatch]) -> Vec<String> {
    let mut problems = Vec::new();
    for patch in patches {
        let name = &patch.name;
        let of_fault = || faults.iter().filter(|fault| fault.number == patch.number);
        if of_fault().next().is_none() {
            problems.push(format!("{name}.patch: there is no fault {}", patch.number));
        }
        for test in &patch.tests {
            if !of_fault().any(|fault| fault.test == *test) {
                let number = patch.number;
                problems.push(format!("{name}.patch: fault {number} has no test {test}"));
            }
        }
    }
    problems
}

/// Chooses up to `count` patches by the first digits of a commit's hash.
fn choose<'a>(patches: &'a [SabotagePatch], commit: &str, count: usize) -> Vec<&'a SabotagePatch> {
    let digits = commit.get(..15).unwrap_or_default();
    let mut seed = usize::from_str_radix(digits, 16).unwrap_or(0);
    let mut rest: Vec<&SabotagePatch> = patches.iter().collect();
    let mut chosen = Vec::new();
    while chosen.len() < count && !rest.is_empty() {
        chosen.push(rest.remove(seed % rest.len()));
        seed /= rest.len() + 1;
    }
    chosen
}

/// The copy of the project that patches are applied to.
pub(crate) struct SabotageTree {
    folder: PathBuf,
    /// The target folder of builds that are run: never the ordinary one, whose binary would be
    /// replaced.
    target: PathBuf,
}

impl SabotageTree {
    pub(crate) fn new(target: &Path) -> SabotageTree {
        let folder = target.join("sabotage");
        SabotageTree {
            folder: folder.join("tree"),
            target: folder.join("target"),
        }
    }

    /// Builds hob with failpoints and with this patch; returns the binary.
    pub(crate) fn build(&self, patch: &SabotagePatch) -> Result<PathBuf> {
        self.reset()?;
        self.apply(patch)?;
        if !self.compile("build", &self.target)? {
            bail!("hob does not build with {}.patch", patch.name);
        }
        Ok(self.target.join("debug/hob"))
    }

    /// Checks that hob compiles with these patches, as many at once as go together. Third-party
    /// crates in the ordinary target folder are shared with clippy.
    fn check_all(&self, mut patches: Vec<&SabotagePatch>, target: &Path) -> Result<bool> {
        let mut is_well = true;
        while !patches.is_empty() {
            self.reset()?;
            let (mut together, mut later) = (Vec::new(), Vec::new());
            for patch in patches {
                if self.takes(patch) {
                    self.apply(patch)?;
                    together.push(patch.name.as_str());
                } else {
                    later.push(patch);
                }
            }
            shell::say(&format!("compiling with {}", together.join(", ")));
            if together.is_empty() || !self.compile("check", target)? {
                shell::warn("hob does not compile with these patches");
                is_well = false;
            }
            patches = later;
        }
        Ok(is_well)
    }

    /// Runs cargo in the copy, with the features of the fault build.
    fn compile(&self, command: &str, target: &Path) -> Result<bool> {
        let mut cargo = shell::cargo();
        cargo.current_dir(&self.folder).args([
            command,
            "--workspace",
            "--bin",
            "hob",
            "--features",
            "hob/failpoints",
            "--locked",
            "--quiet",
            "--message-format",
            "short",
        ]);
        shell::succeeds(cargo.arg("--target-dir").arg(target))
    }

    fn takes(&self, patch: &SabotagePatch) -> bool {
        shell::quietly(self.git_apply(patch).arg("--check"))
    }

    fn apply(&self, patch: &SabotagePatch) -> Result<()> {
        if !shell::succeeds(&mut self.git_apply(patch))? {
            bail!("{}.patch does not apply", patch.name);
        }
        Ok(())
    }

    fn git_apply(&self, patch: &SabotagePatch) -> Command {
        let mut git = shell::program("git");
        git.current_dir(&self.folder)
            .args(["apply"])
            .arg(patch.path());
        // Inside a repository, git would take the patch's paths from the root of that one.
        git.env(
            "GIT_CEILING_DIRECTORIES",
            self.folder.parent().unwrap_or(&self.folder),
        );
        git
    }

    /// Makes the copy equal to the project. Files that are equal are not touched, so that cargo
    /// builds only what changed.
    fn reset(&self) -> Result<()> {
        let mut git = shell::program("git");
        git.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let listed = shell::output(&mut git)?;
        let root = shell::root();
        // A deleted file is listed until the deletion is staged.
        let files: BTreeSet<PathBuf> = listed
            .split_terminator('\0')
            .map(PathBuf::from)
            .filter(|file| root.join(file).is_file())
            .collect();
        std::fs::create_dir_all(&self.folder)?;
        remove_others(&self.folder, &self.folder, &files)?;
        for file in &files {
            let (from, to) = (root.join(file), self.folder.join(file));
            copy_if_changed(&from, &to)
                .with_context(|| format!("cannot copy {}", from.display()))?;
        }
        Ok(())
    }
}

fn copy_if_changed(from: &Path, to: &Path) -> std::io::Result<()> {
    if std::fs::read(to).is_ok_and(|copied| std::fs::read(from).is_ok_and(|it| it == copied)) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::copy(from, to).map(drop)
}

/// Removes files below `folder` that the project no longer has.
fn remove_others(root: &Path, folder: &Path, files: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(root, &path, files)?;
        } else if !path
            .strip_prefix(root)
            .is_ok_and(|file| files.contains(file))
        {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "sabotage_tests.rs"]
mod tests;
