//! Voices by espeak-ng's own list.

use super::VoiceList;

const LIST: &str = "\
Pty Language       Age/Gender VoiceName          File                 Other Languages
 5  af              --/M      Afrikaans          gmw/af
 2  en-gb           --/M      English_(Great_Britain) gmw/en               (en 2)
 2  en-us           --/M      English_(America)  gmw/en-US            (en 3)
 5  de              --/M      German             gmw/de
";
const VARIANTS: &str = "\
Pty Language       Age/Gender VoiceName          File                 Other Languages
 5  variant         --/F      female3            !v/f3
 5  variant         --/M      Alex               !v/Alex
";

#[test]
fn a_voice_is_one_of_the_list() {
    let voices = VoiceList::parse(LIST, VARIANTS);
    for (asked, taken) in [
        (None, "en-us"),
        (Some(" "), "en-us"),
        (Some("de"), "de"),
        (Some("German"), "german"),
        (Some("en-US+f3"), "en-us+f3"),
        (Some("de+alex"), "de+alex"),
        (Some("fable"), "en-gb"),
        (Some("nova"), "en-us+f3"),
    ] {
        assert_eq!(voices.choose(asked).as_deref(), Ok(taken), "{asked:?}");
    }
    for asked in [
        "klingon",
        "-x",
        "de+",
        "+f3",
        "de+f3+f3",
        "../../etc/passwd",
        "de\0",
    ] {
        let refused = voices.choose(Some(asked)).unwrap_err();
        assert!(refused.contains("espeak-ng --voices"), "{refused}");
    }
    let near = voices.choose(Some("deutsch")).unwrap_err();
    assert!(near.contains("Did you mean 'de'?"), "{near}");
    let far = voices.choose(Some("klingon")).unwrap_err();
    assert!(!far.contains("Did you mean"), "{far}");
}
