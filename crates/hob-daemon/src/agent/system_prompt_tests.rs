//! The layers of the system text, and the files that are refused.

use super::*;
use std::os::unix::fs::symlink;

const KEY: &str = "sk-live-0123456789abcdef";

/// A home, a workspace and what is outside both.
fn rooms() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for folder in ["home", "work", "outside"] {
        std::fs::create_dir(directory.path().join(folder)).expect("makes it");
    }
    directory
}

fn sources(root: &Path) -> PromptSources {
    let mask = SecretMask::new();
    mask.add(KEY);
    PromptSources {
        home: Home::at(&root.join("home")),
        mask,
        workspace: Some(root.join("work").display().to_string()),
        caller: Some("Answer in verse.".to_owned()),
    }
}

#[tokio::test]
async fn layers_stand_from_the_stable_to_the_callers() {
    let directory = rooms();
    let root = directory.path();
    std::fs::write(root.join("home/persona.md"), "You are kind.\n").expect("writes");
    std::fs::write(root.join("work/AGENTS.md"), "Run the tests.").expect("writes");
    let SystemPrompt { layers, refused } = build_layers(sources(root), None).await;
    assert_eq!(layers.len(), 4);
    assert_eq!(layers[0], CORE);
    assert_eq!(layers[1], "You are kind.");
    assert!(layers[2].ends_with("says of itself:\nRun the tests."));
    assert_eq!(layers[3], "Answer in verse.");
    assert_eq!(refused, [""; 0]);
}

#[tokio::test]
async fn a_huge_or_missing_file_does_no_harm() {
    let directory = rooms();
    let root = directory.path();
    std::fs::create_dir(root.join("home/persona.md")).expect("a folder of that name");
    std::fs::write(root.join("work/AGENTS.md"), "ä".repeat(100_000)).expect("writes");
    let SystemPrompt { layers, refused } = build_layers(sources(root), None).await;
    assert_eq!(layers.len(), 3);
    assert!(layers[1].len() < 33 * 1024, "{}", layers[1].len());
    assert!(!layers[1].contains(char::REPLACEMENT_CHARACTER));
    assert_eq!(
        refused,
        ["persona.md is a folder, not a file, and was not read."]
    );
}

#[tokio::test]
async fn a_symbolic_link_is_no_layer_and_is_reported() {
    let directory = rooms();
    let root = directory.path();
    std::fs::write(root.join("outside/id_rsa"), "PRIVATE KEY").expect("writes");
    for link in ["home/persona.md", "work/AGENTS.md"] {
        symlink(root.join("outside/id_rsa"), root.join(link)).expect("links");
    }
    let SystemPrompt { layers, refused } = build_layers(sources(root), None).await;
    assert_eq!(layers, [CORE, "Answer in verse."]);
    let told = |name: &str| {
        format!("{name} is a link and was not read. Put the text itself into the file.")
    };
    assert_eq!(refused, [told("persona.md"), told("AGENTS.md")]);
}

#[tokio::test]
async fn a_workspace_that_is_hobs_home_gives_no_layer() {
    let directory = rooms();
    let root = directory.path();
    std::fs::write(root.join("home/AGENTS.md"), "PRIVATE KEY").expect("writes");
    let mut sources = sources(root);
    sources.workspace = Some(root.join("work/../home").display().to_string());
    let SystemPrompt { layers, refused } = build_layers(sources, None).await;
    assert_eq!(layers, [CORE, "Answer in verse."]);
    assert!(refused[0].contains("belongs to hob itself"), "{refused:?}");
}

#[tokio::test]
async fn secrets_in_a_file_are_masked_and_checksums_stay() {
    let directory = rooms();
    let root = directory.path();
    let checksum = "0123456789abcdef".repeat(4);
    let guide = format!("key {KEY}, checksum {checksum}");
    std::fs::write(root.join("work/AGENTS.md"), &guide).expect("writes");
    std::fs::write(root.join("home/persona.md"), KEY).expect("writes");
    let SystemPrompt { layers, .. } = build_layers(sources(root), None).await;
    assert_eq!(layers[1], "[masked]");
    assert!(layers[2].ends_with(&format!("key [masked], checksum {checksum}")));
}
