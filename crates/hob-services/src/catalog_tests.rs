//! Files of a home beside what ships.

use super::*;

fn home(files: &[(&str, &str)]) -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path());
    std::fs::create_dir_all(home.service_files()).unwrap();
    for (name, text) in files {
        std::fs::write(home.service_files().join(name), text).unwrap();
    }
    (folder, home)
}

const COMMAND: &str = "command = [\"true\"]\n";

#[test]
fn a_broken_file_is_a_problem_and_hides_nothing() {
    let (_folder, home) = home(&[
        ("a.toml", COMMAND),
        ("b.toml", "command = [\"true\"]\nports = 1\n"),
        ("Bad Name.toml", COMMAND),
        ("note.txt", "not ours"),
    ]);
    std::fs::create_dir(home.service_files().join("folder.toml")).unwrap();
    let catalog = ServiceCatalog::read(&home, &[]);
    assert!(catalog.find("a").is_some());
    assert!(catalog.find("b").is_none());
    let problems = catalog.problems();
    assert_eq!(problems.len(), 3, "{problems:?}");
    let said = |part: &str| problems.iter().any(|it| it.contains(part));
    assert!(
        said("b.toml, line 2: there is no key 'ports'"),
        "{problems:?}"
    );
    assert!(said("Bad Name.toml is left out"), "{problems:?}");
    assert!(said("folder.toml cannot be read"), "{problems:?}");
    let broken: Vec<&str> = catalog.broken().iter().map(|it| it.name.as_str()).collect();
    assert_eq!(broken, ["b", "folder"]);
    let file = catalog.broken_file("b").expect("is broken");
    assert!(file.problem.contains("b.toml, line 2"), "{file:?}");
    assert_eq!(catalog.broken_file("a"), None);
}

#[test]
fn a_file_that_is_no_text_is_told_with_its_line() {
    let (_folder, home) = home(&[]);
    let bytes = b"command = [\"true\"]\nabout = \"caf\xe9\"\n";
    std::fs::write(home.service_files().join("a.toml"), bytes).unwrap();
    let catalog = ServiceCatalog::read(&home, &[]);
    let problem = &catalog.broken_file("a").expect("is broken").problem;
    assert!(problem.contains("a.toml, line 2: "), "{problem}");
    assert!(problem.contains("Save the file as UTF-8"), "{problem}");
}

#[test]
fn a_service_is_found_by_name_then_alias_then_role() {
    let (_folder, home) = home(&[
        (
            "one.toml",
            "command = [\"true\"]\naliases = [\"two\", \"uno\"]\n",
        ),
        ("two.toml", COMMAND),
        ("brain.toml", "command = [\"true\"]\nrole = \"llm\"\n"),
    ]);
    let catalog = ServiceCatalog::read(&home, &[]);
    let found = |name: &str| catalog.find(name).map(|it| it.descriptor.name.as_str());
    assert_eq!(found("two"), Some("two"));
    assert_eq!(found("uno"), Some("one"));
    assert_eq!(found("mlx"), Some("brain"));
    assert_eq!(found("kokomo"), Some("tts"));
    assert_eq!(found("nobody"), None);
}

#[test]
fn a_home_without_the_folder_has_what_ships() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = ServiceCatalog::read(&Home::at(folder.path()), &[]);
    assert_eq!(catalog.services().len(), shipped_services().len());
    assert!(catalog.problems().is_empty());
}

#[test]
fn a_file_longer_than_the_bound_is_refused() {
    let long = format!("# {}\n{COMMAND}", "x".repeat(70_000));
    let (_folder, home) = home(&[("a.toml", &long)]);
    let catalog = ServiceCatalog::read(&home, &[]);
    assert!(catalog.find("a").is_none());
    assert!(
        catalog.problems()[0].contains("longer than"),
        "{:?}",
        catalog.problems()
    );
}
