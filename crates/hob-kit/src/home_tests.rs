//! Paths of a home, and homes that are refused.

use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn hob_home_holds_everything() {
    let home = Home::resolve(&EnvVars::from_pairs([
        ("HOB_HOME", "/srv/h"),
        ("HOME", "/home/x"),
    ]));
    let home = home.expect("resolves");
    let under = |path: PathBuf| path.strip_prefix("/srv/h").map(Path::to_owned).ok();
    for (path, expected) in [
        (home.config_file(), "config.toml"),
        (home.database(), "hob.db"),
        (home.index(), "index.db"),
        (home.blobs(), "blobs"),
        (home.owner_token(), "owner.token"),
        (home.lock_file(), "hob.db.lock"),
        (home.state_file(), "run/daemon.json"),
        (home.socket(), "run/hob.sock"),
        (home.tmux_socket(), "run/tmux.sock"),
        (home.terminal("t1"), "terminals/t1"),
        (home.log_file(), "logs/hob.log"),
    ] {
        assert_eq!(under(path), Some(PathBuf::from(expected)));
    }
}

#[test]
fn without_it_the_xdg_directories_do() {
    let home = Home::resolve(&EnvVars::from_pairs([("HOME", "/home/x")])).expect("resolves");
    assert_eq!(
        home.config_file(),
        Path::new("/home/x/.config/hob/config.toml")
    );
    assert_eq!(
        home.database(),
        Path::new("/home/x/.local/share/hob/hob.db")
    );
    assert_eq!(
        home.state_file(),
        Path::new("/home/x/.local/state/hob/run/daemon.json")
    );
    let env = EnvVars::from_pairs([
        ("HOME", "/home/x"),
        ("XDG_CONFIG_HOME", "/c"),
        ("XDG_DATA_HOME", "/d"),
        ("XDG_STATE_HOME", "relative/is/ignored"),
    ]);
    let home = Home::resolve(&env).expect("resolves");
    assert_eq!(home.config_file(), Path::new("/c/hob/config.toml"));
    assert_eq!(home.database(), Path::new("/d/hob/hob.db"));
    assert_eq!(home.logs(), Path::new("/home/x/.local/state/hob/logs"));
}

#[test]
fn without_any_of_them_there_is_no_home() {
    let nowhere = Home::resolve(&EnvVars::from_pairs([("HOB_HOME", ""), ("HOME", "")]));
    assert!(matches!(nowhere, Err(HomeError::Nowhere)));
}

#[test]
fn a_relative_hob_home_becomes_absolute() {
    let home = Home::resolve(&EnvVars::from_pairs([("HOB_HOME", "some/where")])).expect("resolves");
    assert!(home.database().is_absolute());
    assert!(home.database().ends_with("some/where/hob.db"));
}

#[test]
fn a_socket_path_that_does_not_fit_gets_a_short_one() {
    let fits = "/".to_owned() + &"a".repeat(SOCKET_PATH_BYTES_MAX - "/run/hob.sock".len() - 1);
    let home = Home::at(Path::new(&fits));
    assert_eq!(home.socket().as_os_str().len(), SOCKET_PATH_BYTES_MAX);
    assert!(home.socket().starts_with(&fits));

    let long = Home::at(Path::new(&(fits.clone() + "a")));
    let other = Home::at(Path::new(&(fits + "b")));
    assert!(long.socket().as_os_str().len() <= SOCKET_PATH_BYTES_MAX);
    assert!(long.socket().starts_with("/tmp"));
    assert_ne!(long.socket(), other.socket());
    assert_eq!(long.socket(), Home::at(long.root()).socket());
}

#[test]
fn ensure_makes_private_directories_even_for_an_over_long_home() {
    let outer = tempfile::tempdir().expect("a directory");
    let root = outer.path().join("x".repeat(120));
    let home = Home::at(&root);
    home.ensure().expect("makes it");
    home.ensure().expect("finds it");
    let socket = home.socket();
    for directory in [
        home.root(),
        &home.run(),
        &home.logs(),
        &home.blobs(),
        socket.parent().expect("has one"),
    ] {
        let mode = std::fs::metadata(directory)
            .expect("exists")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700, "{}", directory.display());
    }
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("the path fits");
    drop(listener);
    std::fs::remove_file(socket).expect("was bound");
}

#[test]
fn a_home_that_others_may_write_to_is_refused() {
    let outer = tempfile::tempdir().expect("a directory");
    let open = std::fs::Permissions::from_mode(0o770);
    std::fs::set_permissions(outer.path(), open).expect("is ours");
    let refused = Home::at(outer.path()).ensure().expect_err("is refused");
    assert!(refused.to_string().contains("chmod 700"), "{refused}");
}

#[test]
fn each_socket_falls_back_by_itself_and_its_folder_is_checked_and_hidden() {
    // From here on the name `tmux.sock` is one byte too long, then `hob.sock` is too.
    for (bytes, tmux_fits, hob_fits) in [
        (92, true, true),
        (93, true, true),
        (94, false, true),
        (95, false, false),
        (96, false, false),
    ] {
        let root = "/".to_owned() + &"a".repeat(bytes - 1);
        let home = Home::at(Path::new(&root));
        assert_eq!(home.tmux_socket().starts_with(&root), tmux_fits, "{bytes}");
        assert_eq!(home.socket().starts_with(&root), hob_fits, "{bytes}");
        for socket in [home.socket(), home.tmux_socket()] {
            assert!(socket.as_os_str().len() <= SOCKET_PATH_BYTES_MAX);
            let folder = socket.parent().expect("has one");
            assert!(home.folders().contains(&folder), "{bytes}: no tool sees it");
        }
    }
    assert_eq!(HOME_PATH_BYTES_MAX, 93);
}

#[test]
fn a_folder_among_those_of_others_must_be_ours_alone() {
    let shared = tempfile::tempdir().expect("a directory");
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("is ours");
    };
    mode(shared.path(), 0o1777);
    let folder = shared.path().join("hob-1");
    let refusal = || match make_private_shared(&folder) {
        Err(HomeError::SocketFolder { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    make_private_shared(&folder).expect("is made");
    make_private_shared(&folder).expect("is found");
    for open in [0o777, 0o770, 0o755, 0o710, 0o701] {
        mode(&folder, open);
        assert_eq!(refusal(), format!("its mode is {open:o} and not 700"));
    }
    mode(&folder, 0o700);
    make_private_shared(&folder).expect("is private again");

    // A link, to a folder that would do and to none.
    let elsewhere = shared.path().join("elsewhere");
    std::fs::rename(&folder, &elsewhere).expect("is ours");
    std::os::unix::fs::symlink(&elsewhere, &folder).expect("a link");
    assert_eq!(refusal(), "it is not a folder");
    std::fs::remove_dir(&elsewhere).expect("is empty");
    assert_eq!(refusal(), "it is not a folder");
    assert!(!elsewhere.exists(), "nothing is made through a link");
    std::fs::remove_file(&folder).expect("the link");

    std::fs::write(&folder, "").expect("a file");
    assert_eq!(refusal(), "it is not a folder");
    std::fs::remove_file(&folder).expect("the file");

    if rustix::process::geteuid().is_root() {
        std::fs::create_dir(&folder).expect("a folder");
        mode(&folder, 0o700);
        std::os::unix::fs::chown(&folder, Some(65_534), None).expect("is given away");
        assert_eq!(refusal(), "it belongs to user 65534");
        std::fs::remove_dir(&folder).expect("is empty");
    }

    // Where others may rename what is ours, no folder is safe.
    mode(shared.path(), 0o777);
    assert!(refusal().contains("other users may replace it"));
    assert!(!folder.exists());
}
