//! Files that are accepted as images, and files that are not.

use super::{BYTES_MAX, IMAGES_MAX, InlineImage};
use hob_kit::home::Home;
use std::path::Path;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// Reads as a daemon whose home is elsewhere.
fn read_images(paths: &[String]) -> Result<Vec<InlineImage>, String> {
    super::read_images(paths, &Home::at(Path::new("/nowhere/hob")))
}

#[test]
fn links_and_pictures_of_hobs_home_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = |name: &str| at(name).to_str().unwrap().to_owned();
    std::fs::create_dir(at("home")).unwrap();
    std::fs::write(at("private.png"), PNG).unwrap();
    std::fs::write(at("home/own.png"), PNG).unwrap();
    std::os::unix::fs::symlink(at("private.png"), at("link.png")).unwrap();
    let home = Home::at(&at("home"));
    for (name, why) in [("link.png", "is a link"), ("home/own.png", "hob itself")] {
        let refused = super::read_images(&[text(name)], &home).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    assert!(super::read_images(&[text("private.png")], &home).is_ok());
    std::fs::hard_link(at("private.png"), at("second.png")).unwrap();
    let refused = super::read_images(&[text("second.png")], &home).unwrap_err();
    assert!(refused.contains("hard link"), "{refused}");
}

#[test]
fn only_pictures_within_the_bounds_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let png = file("a.png", PNG);
    let images = read_images(&[png.clone(), file("b", b"\xff\xd8\xff\xe0")]).unwrap();
    assert_eq!(images[0].mime_type, "image/png");
    assert_eq!(images[0].data, "iVBORw0KGgpyZXN0");
    assert_eq!(images[1].mime_type, "image/jpeg");

    let mut large = PNG.to_vec();
    large.resize(usize::try_from(BYTES_MAX).unwrap(), 0);
    let large = file("large.png", &large);
    assert!(read_images(std::slice::from_ref(&large)).is_ok());
    for (paths, why) in [
        (
            vec![file("key.png", b"-----BEGIN PRIVATE KEY-----")],
            "not a picture",
        ),
        (vec![file("empty.png", b"")], "not a picture"),
        (vec![png.clone(), large], "too large"),
        (vec!["a.png".to_owned()], "whole path"),
        (
            vec![folder.path().to_str().unwrap().to_owned()],
            "not a file",
        ),
        (vec!["/dev/zero".to_owned()], "not a file"),
        (vec![format!("{png}.gone")], "cannot be read"),
        (vec![png; IMAGES_MAX + 1], "at most"),
    ] {
        let refused = read_images(&paths).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}
