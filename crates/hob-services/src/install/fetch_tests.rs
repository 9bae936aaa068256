//! What is asked of a package client, and what its failures mean.

use super::*;
use hob_exec::SandboxLevel;
use hob_exec::output::head_tail::HeadTailBuffer;
use hob_exec::shim_protocol::{ResourceUsage, WaitStatus};

fn fetch(client: PackageClient) -> PackageFetch {
    PackageFetch {
        client,
        name: "pack".to_owned(),
        version: "1.2".to_owned(),
        file: "pack-1.2-py3-none-any.whl".to_owned(),
        bytes: 10,
        sha256: "ab".repeat(32),
    }
}

fn pip() -> PackageFetch {
    fetch(PackageClient::Pip {
        python: "/usr/bin/python3".into(),
    })
}

fn failed(stdout: &str, stderr: &str, cause: ExitCause) -> ChildExit {
    let kept = |text: &str| {
        let mut keep = HeadTailBuffer::new(4_096);
        keep.push(text.as_bytes());
        keep.snapshot()
    };
    ChildExit {
        status: WaitStatus::Code(1),
        cause,
        level: SandboxLevel::None,
        usage: ResourceUsage::default(),
        duration: Duration::ZERO,
        stdout: kept(stdout),
        stderr: kept(stderr),
        output_file: None,
        dropped_lines: 0,
        left_behind: hob_exec::LeftBehind::default(),
    }
}

#[test]
fn pip_is_asked_for_one_file_with_one_checksum() {
    let fetch = pip();
    assert_eq!(
        requirement_line(&fetch),
        format!("pack==1.2 --hash=sha256:{}\n", "ab".repeat(32))
    );
    let argv = command(&fetch, Path::new("/x"));
    let argv: Vec<_> = argv.iter().map(|word| word.to_str().unwrap()).collect();
    assert_eq!(
        argv[..5],
        ["/usr/bin/python3", "-I", "-m", "pip", "download"]
    );
    for word in ["--no-deps", "--require-hashes", "--only-binary=:all:"] {
        assert!(argv.contains(&word), "{argv:?}");
    }
    assert_eq!(argv[argv.len() - 2..], ["-d", "/x"]);
}

#[test]
fn npm_is_asked_for_one_file_and_runs_nothing_of_it() {
    let fetch = fetch(PackageClient::Npm { npm: "npm".into() });
    let argv = command(&fetch, Path::new("/x"));
    let argv: Vec<_> = argv.iter().map(|word| word.to_str().unwrap()).collect();
    assert_eq!(argv[..3], ["npm", "pack", "pack@1.2"]);
    assert!(argv.contains(&"--ignore-scripts"));
}

#[test]
fn a_failure_is_told_in_our_words_and_then_in_the_clients() {
    let stderr = "WARNING: Retrying\nERROR: Could not find a version\nERROR: No matching distribution\n\n[notice] a new release";
    let error = explain_failure(
        &pip(),
        &failed("Looking in links", stderr, ExitCause::Itself),
    );
    let said = error.to_string();
    assert!(
        said.starts_with("pack 1.2 could not be fetched: pip could not download it"),
        "{said}"
    );
    assert!(
        said.ends_with("ERROR: Could not find a version / ERROR: No matching distribution"),
        "{said}"
    );
    let silent = explain_failure(&pip(), &failed("", "", ExitCause::Deadline)).to_string();
    assert!(
        silent.ends_with("pip took longer than 2 hours."),
        "{silent}"
    );
}

#[test]
fn a_full_disk_and_a_wrong_checksum_are_told_apart() {
    let full = "ERROR: Could not install: [Errno 28] No space left on device";
    let error = explain_failure(&pip(), &failed("", full, ExitCause::Itself));
    assert_eq!(error, InstallError::Full);
    let wrong = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.";
    let error = explain_failure(&pip(), &failed("", wrong, ExitCause::Itself));
    assert!(matches!(error, InstallError::Wrong { .. }));
}

#[test]
fn a_long_complaint_is_cut_at_its_beginning() {
    let said = last_lines(&"é".repeat(5_000));
    assert_eq!(said.chars().count(), COMPLAINT_CHARS_MAX);
}

#[test]
fn a_copy_for_the_cache_does_not_count_twice() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("unpack")).unwrap();
    std::fs::write(folder.path().join("unpack/pack.whl"), [0; 700]).unwrap();
    std::fs::write(folder.path().join("tmp123"), [0; 650]).unwrap();
    assert_eq!(largest_file_bytes(folder.path()), 700);
}
