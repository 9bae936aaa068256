//! What is said of a local model.

use super::*;

#[test]
fn a_model_that_can_be_installed_is_well_and_one_that_cannot_is_a_note() {
    let catalog = settings::catalog();
    let settings = |text: &str| {
        let env = hob_kit::host_environment::EnvVars::default();
        Settings::load(&catalog, "test", text, &env).expect("loads")
    };
    let plain = settings("");
    assert_eq!(
        local_model_finding(&plain, "none", Ok(())).level,
        FindingLevel::Well
    );
    let note = local_model_finding(&plain, "none", Err("There is no pip.".to_owned()));
    assert_eq!(
        (note.level, note.message.as_str()),
        (FindingLevel::Note, "There is no pip.")
    );
    let named = settings("[llm]\nmodel = \"/gone.gguf\"\n");
    let wrong = local_model_finding(&named, "'/gone.gguf' is not there.", Ok(()));
    assert_eq!(wrong.level, FindingLevel::Warning);
}
