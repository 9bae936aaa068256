//! Paths as they really are.

use super::*;
use crate::spawn_plan::SandboxPolicy;
use std::os::unix::fs::symlink;

fn plan(cwd: &Path, policy: SandboxPolicy) -> SpawnPlan {
    SpawnPlan::new(
        vec!["true".into()],
        cwd.to_owned(),
        SandboxMode::Policy(policy),
    )
}

fn settled(cwd: &Path, policy: SandboxPolicy) -> Result<SandboxPolicy, ExecError> {
    let mut plan = plan(cwd, policy);
    resolve_plan(&mut plan)?;
    match plan.sandbox {
        SandboxMode::Policy(policy) => Ok(policy),
        SandboxMode::Unsandboxed { .. } => panic!("walls do not vanish"),
    }
}

#[test]
fn links_are_followed_before_any_rule_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("there");
    std::fs::create_dir_all(root.join("real/home")).expect("made");
    symlink(root.join("real"), root.join("link")).expect("made");
    let roots = [root.join("link")];
    let hidden = vec![root.join("link/home"), root.join("link/missing/deep")];
    let found = settled(&root, SandboxPolicy::workspace(&roots, None, hidden)).expect("sound");
    assert_eq!(found.write, [root.join("real")]);
    assert_eq!(found.protected, [root.join("real/.git")]);
    let expected = [root.join("real/home"), root.join("real/missing/deep")];
    assert_eq!(found.hidden, expected);
}

#[test]
fn contradictions_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("there");
    let roots = [root.clone()];
    let hidden = settled(
        Path::new("/"),
        SandboxPolicy::workspace(&roots, None, roots.to_vec()),
    );
    assert!(matches!(hidden, Err(ExecError::Policy(_))), "{hidden:?}");
    let whole = settled(
        &root,
        SandboxPolicy::workspace(&["/".into()], None, Vec::new()),
    );
    assert!(matches!(whole, Err(ExecError::Policy(_))), "{whole:?}");
    let missing = settled(
        &root,
        SandboxPolicy::workspace(&[root.join("no")], None, Vec::new()),
    );
    assert!(matches!(missing, Err(ExecError::Policy(_))), "{missing:?}");
    symlink("elsewhere", root.join(".git")).expect("made");
    let link = settled(&root, SandboxPolicy::workspace(&roots, None, Vec::new()));
    assert!(matches!(link, Err(ExecError::Policy(_))), "{link:?}");
}

#[test]
fn a_link_that_a_command_could_replace_is_refused_on_the_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let top = folder.path().canonicalize().expect("there");
    let root = top.join("work");
    std::fs::create_dir_all(root.join("real/hob")).expect("made");
    std::fs::create_dir_all(top.join("outside")).expect("made");
    symlink("real", root.join("link")).expect("made");
    symlink(root.join("link"), top.join("outside/door")).expect("made");
    symlink("nowhere", root.join("dead")).expect("made");
    let roots = [root.clone()];
    for hidden in [
        root.join("link/hob"),
        top.join("outside/door/hob"),
        top.join("outside/../work/link"),
        root.join("dead/hob"),
    ] {
        let found = settled(
            &root,
            SandboxPolicy::workspace(&roots, None, vec![hidden.clone()]),
        );
        let Err(ExecError::Policy(reason)) = found else {
            panic!("{}: {found:?}", hidden.display());
        };
        assert!(reason.contains("symbolic link"), "{reason}");
    }
    for protected in [root.join("link/.git"), root.join("dead/.git")] {
        let mut policy = SandboxPolicy::workspace(&roots, None, Vec::new());
        policy.protected = vec![protected];
        let found = settled(&root, policy);
        assert!(matches!(found, Err(ExecError::Policy(_))), "{found:?}");
    }
    // The same link is no matter while nobody can replace it.
    let mut looking = SandboxPolicy::workspace(&[], None, vec![top.join("outside/door/hob")]);
    let found = settled(&root, looking.clone()).expect("sound");
    assert_eq!(found.hidden, [root.join("real/hob")]);
    looking.write = vec![top.join("outside")];
    let found = settled(&root, looking);
    assert!(matches!(found, Err(ExecError::Policy(_))), "{found:?}");
}

#[test]
fn a_run_starts_where_it_can_see() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("there");
    let hidden = settled(
        &root,
        SandboxPolicy::workspace(&[], None, vec![root.clone()]),
    );
    assert!(matches!(hidden, Err(ExecError::Cwd { .. })), "{hidden:?}");
    let missing = settled(
        &root.join("no"),
        SandboxPolicy::workspace(&[], None, Vec::new()),
    );
    assert!(matches!(missing, Err(ExecError::Cwd { .. })), "{missing:?}");
}

#[test]
fn what_is_hidden_inside_something_hidden_is_named_once() {
    let mut paths: Vec<PathBuf> = ["/h/run", "/a", "/h", "/h/run/x", "/home", "/a-b"]
        .map(PathBuf::from)
        .to_vec();
    keep_outermost(&mut paths);
    assert_eq!(paths, ["/a", "/a-b", "/h", "/home"].map(PathBuf::from));
}
