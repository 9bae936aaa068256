//! Installations that come, are replaced and go.

use super::*;
use crate::install::RecipeStep;

fn recipe(content: &str) -> InstallRecipe {
    InstallRecipe {
        steps: vec![RecipeStep::Write {
            file: "a".to_owned(),
            content: content.to_owned(),
        }],
        disk_bytes: 10,
        licences: Vec::new(),
        notes: vec![("python".to_owned(), "/usr/bin/python3".to_owned())],
    }
}

/// Does what following the recipe would.
fn install(site: &InstallSite, content: &str) -> InstallRecipe {
    let recipe = recipe(content);
    site.begin(&recipe).unwrap();
    fs::write(site.made(&recipe).join("a"), content).unwrap();
    site.finish(&recipe).unwrap();
    recipe
}

fn site() -> (tempfile::TempDir, InstallSite) {
    let folder = tempfile::tempdir().unwrap();
    let site = InstallSite::new(folder.path().join("services/llm"));
    (folder, site)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn an_installation_is_there_as_a_whole_and_remembers_what_it_needs() {
    let (_folder, site) = site();
    assert_eq!(site.read_record(), None);
    let made = install(&site, "one");
    assert!(site.is_made_by(&made));
    assert!(!site.is_made_by(&recipe("two")));
    assert_eq!(
        site.read_record().unwrap().notes["python"],
        "/usr/bin/python3"
    );
    assert_eq!(names(site.folder()), ["installed"]);
}

#[test]
fn a_newer_one_takes_the_place_of_an_older_one() {
    let (_folder, site) = site();
    install(&site, "one");
    let two = install(&site, "two");
    assert!(site.is_made_by(&two));
    assert_eq!(
        fs::read_to_string(site.installed().join("a")).unwrap(),
        "two"
    );
    assert_eq!(names(site.folder()), ["installed"]);
}

#[test]
fn what_another_recipe_left_is_removed_and_what_this_one_fetched_stays() {
    let (_folder, site) = site();
    let (one, two) = (recipe("one"), recipe("two"));
    site.begin(&one).unwrap();
    fs::write(site.fetched(&one).join("wheel"), "1").unwrap();
    fs::write(site.made(&one).join("half"), "1").unwrap();
    site.begin(&one).unwrap();
    assert!(site.fetched(&one).join("wheel").exists());
    assert!(!site.made(&one).join("half").exists());
    site.begin(&two).unwrap();
    assert!(!site.fetched(&one).exists());
}

#[test]
fn removing_says_how_much_that_was_and_keeps_what_the_service_wrote() {
    let (_folder, site) = site();
    install(&site, "1234567890");
    fs::write(site.folder().join("own.txt"), "kept").unwrap();
    site.begin(&recipe("two")).unwrap();
    let freed = site.remove().unwrap();
    assert!(freed > 10, "{freed}");
    assert_eq!(site.read_record(), None);
    assert_eq!(names(site.folder()), ["own.txt"]);
    fs::remove_file(site.folder().join("own.txt")).unwrap();
    assert_eq!(site.remove().unwrap(), 0);
    assert!(!site.folder().exists());
}

#[test]
fn a_file_is_what_its_size_and_checksum_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("abc");
    fs::write(&path, "abc").unwrap();
    let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let stop = CancellationToken::new();
    verify(&path, 3, right, &stop).unwrap();
    let said = |bytes, sha256: &str| verify(&path, bytes, sha256, &stop).unwrap_err().to_string();
    assert!(said(4, right).contains("3 bytes instead of 4"));
    assert!(said(3, &"0".repeat(64)).contains(right));
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(verify(&link, 3, right, &stop).is_err());
}

#[test]
fn free_room_is_told_of_folders_that_are_not_there_yet() {
    let folder = tempfile::tempdir().unwrap();
    assert!(free_bytes(&folder.path().join("not/yet")).unwrap() > 0);
}
