//! What Python says of itself.

use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_python_that_is_new_enough_is_told_with_its_own_path() {
    let said = "some greeting\nhob 3 11 pip /usr/bin/with space/python3.11\n";
    let python = parse_python(said).unwrap();
    assert_eq!((python.minor, python.has_pip), (11, true));
    assert_eq!(python.program, Path::new("/usr/bin/with space/python3.11"));
    assert!(
        !parse_python("hob 3 10 none /usr/bin/python3\n")
            .unwrap()
            .has_pip
    );
}

#[test]
fn one_that_is_too_old_or_odd_is_none() {
    for said in [
        "hob 3 9 pip /usr/bin/python3",
        "hob 2 12 pip /usr/bin/python3",
        "hob 3 12 pip python3",
        "hob 3",
        "",
        "Python 3.12",
    ] {
        assert_eq!(parse_python(said), None, "{said}");
    }
}

#[test]
fn a_program_is_a_file_that_may_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, program) = (folder.path().join("plain"), folder.path().join("program"));
    std::fs::write(&plain, "").unwrap();
    std::fs::write(&program, "").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("relative:{}", folder.path().display());
    let env = EnvVars::from_pairs([("PATH", path)]);
    assert_eq!(find_on_path(&env, "program"), Some(program));
    assert_eq!(find_on_path(&env, "plain"), None);
    assert_eq!(find_on_path(&EnvVars::default(), "program"), None);
}
