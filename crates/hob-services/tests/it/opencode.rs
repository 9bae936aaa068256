//! Which `OpenCode` is found, and what it is started with.

use crate::rig::{Rig, settings_of};
use hob_services::install::{InstallRecipe, RecipeStep};
use hob_services::{FoundService, ServiceDescriptor, opencode};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;

async fn find(rig: &Rig, settings: &str) -> FoundService {
    let settings = settings_of(settings);
    let find = opencode::ENTRY.find.expect("it is looked for");
    find(&rig.place(&settings)).await
}

fn program(found: &FoundService) -> &Path {
    match found {
        FoundService::Command { argv, .. } => Path::new(&argv[0]),
        other => panic!("{other:?}"),
    }
}

fn variable<'f>(found: &'f FoundService, name: &str) -> Option<&'f OsStr> {
    let FoundService::Command { env, .. } = found else {
        panic!("{found:?}");
    };
    let mut values = env.iter().filter(|(known, _)| known == name);
    let value = values.next().map(|(_, value)| value.as_os_str());
    assert!(values.next().is_none(), "{name} is there twice");
    value
}

fn why(found: FoundService) -> String {
    match found {
        FoundService::Missing { why } => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_named_one_comes_before_the_path_and_a_wrong_name_is_said() {
    let bare = Rig::new(&[]);
    let missing = why(find(&bare, "").await);
    assert!(
        missing.contains("hob service install opencode"),
        "{missing}"
    );
    let on_path = bare.program("opencode", "exit 0");
    assert_eq!(program(&find(&bare, "").await), on_path);

    let other = bare.program("other", "exit 0");
    let named = Rig::new(&[("OPENCODE_EXECUTABLE", &other.display().to_string())]);
    named.program("opencode", "exit 0");
    assert_eq!(program(&find(&named, "").await), other);

    let wrong = Rig::new(&[("OPENCODE_EXECUTABLE", "/nowhere/opencode")]);
    wrong.program("opencode", "exit 0");
    let refused = why(find(&wrong, "").await);
    assert!(refused.contains("/nowhere/opencode"), "{refused}");
}

#[tokio::test]
async fn it_has_a_password_a_database_of_its_own_and_no_tools() {
    let rig = Rig::new(&[
        ("XDG_CONFIG_HOME", "/their/config"),
        ("SECRET_KEY", "s3cret"),
    ]);
    rig.program("opencode", "exit 0");
    let found = find(&rig, "").await;
    let password = variable(&found, "OPENCODE_SERVER_PASSWORD");
    assert_eq!(password, Some(OsStr::new("{password}")));
    let descriptor: ServiceDescriptor = (opencode::ENTRY.descriptor)();
    assert_eq!(descriptor.login.as_deref(), Some("opencode"));
    let database = Path::new(variable(&found, "OPENCODE_DB").expect("is set"));
    assert!(database.starts_with(rig.home.service("opencode")));
    assert_eq!(
        variable(&found, "XDG_CONFIG_HOME"),
        Some(OsStr::new("/their/config"))
    );
    assert_eq!(variable(&found, "SECRET_KEY"), None);
    for name in [
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_MODELS_FETCH",
    ] {
        assert_eq!(variable(&found, name), Some(OsStr::new("1")));
    }
    assert_eq!(config(&found)["agent"]["hob"]["permission"]["*"], "deny");
    assert_eq!(config(&found)["default_agent"], "hob");

    let settings = "[opencode]\nacts = true\nvariables = [\"SECRET_KEY\", \"OPENCODE_DB\"]\n";
    let acting = find(&rig, settings).await;
    assert_eq!(variable(&acting, "SECRET_KEY"), Some(OsStr::new("s3cret")));
    assert_eq!(config(&acting)["agent"]["hob"]["permission"].get("*"), None);
}

fn config(found: &FoundService) -> Value {
    let text = variable(found, "OPENCODE_CONFIG_CONTENT").expect("is set");
    serde_json::from_str(text.to_str().expect("text")).expect("JSON")
}

async fn recipe(rig: &Rig) -> Result<InstallRecipe, String> {
    let settings = settings_of("");
    let install = opencode::ENTRY.install.expect("it is installed");
    install(&rig.place(&settings)).await
}

#[tokio::test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
async fn it_is_fetched_by_npm_and_its_program_is_checked() {
    let rig = Rig::new(&[]);
    let obstacle = recipe(&rig).await.expect_err("there is no npm");
    assert!(obstacle.contains("npm"), "{obstacle}");
    rig.program("npm", "exit 0");
    let recipe = recipe(&rig).await.expect("is planned");
    let fetch = recipe.fetches().next().expect("something is fetched");
    assert_eq!(fetch.name, "opencode-linux-x64");
    assert!(
        recipe
            .steps
            .iter()
            .any(|step| matches!(step, RecipeStep::Check { file, .. } if file == "bin/opencode"))
    );
}
