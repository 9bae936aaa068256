//! Names of fetched models.

use super::*;

fn named(repository: &str, path: &str) -> String {
    let hub = HubRepository {
        repository: repository.to_owned(),
        revision: "main".to_owned(),
        licence: None,
        gated: false,
        files: Vec::new(),
    };
    let file = HubFile {
        path: path.to_owned(),
        bytes: 1,
        sha256: String::new(),
    };
    local_name(None, &hub, &file)
}

#[test]
fn a_file_of_the_hub_does_not_take_a_name_of_the_catalogue() {
    assert_eq!(named("o/r", "sub/model-Q4_K_M.gguf"), "model-Q4_K_M");
    assert_eq!(named("evil/r", "qwen3-4b.gguf"), "evil-qwen3-4b");
    assert_eq!(named("evil/r", "Qwen3-4B.gguf"), "evil-Qwen3-4B");
}

#[test]
fn sizes_have_one_decimal_place() {
    assert_eq!(gibibytes(6_762_000_000), "6.2");
    assert_eq!(gibibytes(1 << 29), "0.5");
}
