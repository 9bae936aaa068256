//! Reading the list of terminals.

use super::*;

#[test]
fn terminals_are_told_from_other_panes_and_people_from_connections() {
    let said = "P b %1 12 120 30 1 /h/terminals/2 with space\n\
                P a %0 11 80 24 0 /h/terminals/1\n\
                P mine %3 13 80 24 0 \n\
                C 0 a\nC 1 a\nC 0 a\nC 0 mine\nnonsense\n";
    let found = read_sessions(said);
    let names: Vec<_> = found.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!((found[0].attached, found[1].attached), (2, 0));
    assert_eq!((found[0].is_recorded, found[1].is_recorded), (false, true));
    assert_eq!(found[1].folder, Path::new("/h/terminals/2 with space"));
    assert_eq!(
        (found[1].columns, found[1].rows, found[1].shell_pid),
        (120, 30, 12)
    );
}

#[test]
fn a_server_that_ends_with_its_last_terminal_is_none() {
    for said in [
        "no server running on /h/run/tmux.sock",
        "error connecting to /h/run/tmux.sock (No such file or directory)",
        "no current target",
        "server exited unexpectedly",
    ] {
        assert!(is_no_server(said), "{said}");
    }
    for said in [
        "can't find session: a",
        "error connecting to /h/run/tmux.sock (Permission denied)",
        "server version is too old for client",
    ] {
        assert!(!is_no_server(said), "{said}");
    }
}
