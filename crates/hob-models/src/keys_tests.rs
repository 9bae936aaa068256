//! Which key is used, and that every key is masked.

use super::*;

fn keys(env: &[(&str, &str)]) -> (tempfile::TempDir, HomeKeys, SecretMask) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    let mask = SecretMask::new();
    let env = EnvVars::from_pairs(env.iter().copied());
    let (keys, problems) = HomeKeys::open(EnvKeys::new(env, mask.clone()), home);
    assert!(problems.is_empty(), "{problems:?}");
    (folder, keys, mask)
}

#[test]
fn a_kept_key_is_used_masked_and_read_again_at_the_next_start() {
    let (folder, keys, mask) = keys(&[]);
    assert_eq!(keys.origin("ANTHROPIC_API_KEY"), None);
    let key = Secret::new("pasted-key-0123456789");
    keys.store("anthropic", &key).expect("kept");
    assert_eq!(keys.key("ANTHROPIC_API_KEY"), Some(key.clone()));
    assert_eq!(keys.key("OPENAI_API_KEY"), None);
    assert_eq!(keys.origin("ANTHROPIC_API_KEY"), Some(KeyOrigin::Kept));
    assert!(
        !mask
            .apply_exact("say pasted-key-0123456789")
            .contains("pasted")
    );

    let other = SecretMask::new();
    let env = EnvKeys::new(EnvVars::default(), other.clone());
    let (again, _) = HomeKeys::open(env, Home::at(folder.path()));
    assert_eq!(again.key("ANTHROPIC_API_KEY"), Some(key));
    assert!(
        !other
            .apply_exact("say pasted-key-0123456789")
            .contains("pasted")
    );

    assert!(keys.remove("anthropic").expect("removed"));
    assert_eq!(keys.key("ANTHROPIC_API_KEY"), None);
}

#[test]
fn the_environment_wins() {
    let (_folder, keys, _) = keys(&[("OPENAI_API_KEY", "from-the-environment")]);
    keys.store("openai", &Secret::new("pasted-key-0123456789"))
        .expect("kept");
    let found = keys.key("OPENAI_API_KEY").expect("a key");
    assert_eq!(found.expose(), "from-the-environment");
    assert_eq!(keys.origin("OPENAI_API_KEY"), Some(KeyOrigin::Environment));
}
