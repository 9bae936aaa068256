//! One holder for each home. This test binary is run again as the second process.

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

fn home() -> (tempfile::TempDir, Home) {
    let directory = tempfile::tempdir().expect("a directory");
    let home = Home::at(directory.path());
    home.ensure().expect("makes it");
    (directory, home)
}

/// Takes the lock of `$HOB_TEST_LOCK_HOME` and holds it until stdin closes. Without the variable
/// it is an ordinary test with nothing to do.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the parent test selects the child's role by the environment"
)]
fn held_by_another_process() {
    let Ok(root) = std::env::var("HOB_TEST_LOCK_HOME") else {
        return;
    };
    let lock = HomeLock::acquire(&Home::at(Path::new(&root))).expect("is free");
    println!("\nheld");
    std::io::stdout().flush().expect("is open");
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(lock);
}

#[expect(clippy::disallowed_methods, reason = "a second process is the point")]
fn hold_elsewhere(home: &Home) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("is running"))
        .args([
            "home_lock::tests::held_by_another_process",
            "--exact",
            "--nocapture",
        ])
        .env("HOB_TEST_LOCK_HOME", home.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let output = child.stdout.take().expect("is piped");
    let mut lines = BufReader::new(output).lines();
    assert!(
        lines.any(|line| line.is_ok_and(|line| line == "held")),
        "the child got the lock"
    );
    // The rest of its output is drained so that it never blocks on the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

#[test]
fn a_second_process_is_refused_and_told_who_holds_it() {
    let (_directory, home) = home();
    let mut child = hold_elsewhere(&home);
    assert_eq!(holder_pid(&home), Some(child.id()));
    let refused = HomeLock::acquire(&home).expect_err("is held");
    let LockError::Held { pid, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(*pid, Some(child.id()));
    assert!(
        refused.to_string().contains(&format!("pid {}", child.id())),
        "{refused}"
    );
    drop(child.stdin.take());
    child.wait().expect("ends");
    assert_eq!(holder_pid(&home), None);
    HomeLock::acquire(&home).expect("is free again");
}

#[test]
fn a_killed_holder_leaves_no_lock_behind() {
    let (_directory, home) = home();
    let mut child = hold_elsewhere(&home);
    child.kill().expect("is ours");
    child.wait().expect("ends");
    // The file still names the dead pid; only the kernel's lock counts.
    assert_eq!(
        read(&home.lock_file()).and_then(|content| content.pid),
        Some(child.id())
    );
    assert_eq!(holder_pid(&home), None);
    HomeLock::acquire(&home).expect("is free");
}

#[test]
fn the_home_remembers_that_it_lived() {
    let (_directory, home) = home();
    let mut lock = HomeLock::acquire(&home).expect("is free");
    assert!(!lock.had_database());
    drop(lock);
    lock = HomeLock::acquire(&home).expect("is free");
    assert!(
        !lock.had_database(),
        "a start that opened no store leaves no life"
    );
    lock.mark_has_database().expect("writes");
    drop(lock);
    assert!(HomeLock::acquire(&home).expect("is free").had_database());
}

#[test]
fn the_same_process_does_not_get_it_twice() {
    let (_directory, home) = home();
    let _lock = HomeLock::acquire(&home).expect("is free");
    assert!(matches!(
        HomeLock::acquire(&home),
        Err(LockError::Held { .. })
    ));
}

#[test]
fn a_garbled_file_is_no_obstacle() {
    let (_directory, home) = home();
    std::fs::write(home.lock_file(), b"\xff\xfe nonsense").expect("writes");
    let lock = HomeLock::acquire(&home).expect("is free");
    assert!(!lock.had_database());
}

#[test]
fn a_client_that_looks_does_not_keep_a_daemon_out() {
    let (_directory, home) = home();
    drop(HomeLock::acquire(&home).expect("is free"));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = holder_pid(&home);
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        for _ in 0..50 {
            drop(HomeLock::acquire(&home).expect("is free but for the looks"));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        looking.join().expect("ends");
    });
}
