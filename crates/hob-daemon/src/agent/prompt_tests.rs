//! The layers of the system text.

use super::*;

fn sources(root: &Path) -> Sources {
    Sources {
        home: Home::at(root),
        workspace: Some(root.join("work").display().to_string()),
        caller: Some("Answer in verse.".to_owned()),
    }
}

#[tokio::test]
async fn layers_stand_from_the_stable_to_the_callers() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    std::fs::create_dir(root.join("work")).expect("makes it");
    std::fs::write(root.join("persona.md"), "You are kind.\n").expect("writes");
    std::fs::write(root.join("work/AGENTS.md"), "Run the tests.").expect("writes");
    let layers = layers(sources(root), None).await;
    assert_eq!(layers.len(), 4);
    assert_eq!(layers[0], CORE);
    assert_eq!(layers[1], "You are kind.");
    assert!(layers[2].ends_with("says of itself:\nRun the tests."));
    assert_eq!(layers[3], "Answer in verse.");
}

#[tokio::test]
async fn a_huge_or_missing_file_does_no_harm() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    std::fs::create_dir(root.join("persona.md")).expect("a folder of that name");
    std::fs::create_dir(root.join("work")).expect("makes it");
    std::fs::write(root.join("work/AGENTS.md"), "ä".repeat(100_000)).expect("writes");
    let layers = layers(sources(root), None).await;
    assert_eq!(layers.len(), 3);
    assert!(layers[1].len() < 33 * 1024, "{}", layers[1].len());
}
