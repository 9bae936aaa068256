//! Sequences by chance, the same in each run: the mirror and tmux agree on those too. No wide
//! characters: tmux leaves halves of them where others are moved, and the mirror blanks them.

use super::same_at;
use std::fmt::Write;

/// Small, so that edges are met often. Of one width: whether a row that was overwritten and moved
/// about still goes on in the next is a thing of tmux's own.
const SIZES: [(u16, u16); 4] = [(20, 6), (20, 4), (20, 9), (20, 7)];

/// Numbers that look random, from a seed.
struct SeededNumbers(u64);

impl SeededNumbers {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn sequence(randomness: &mut SeededNumbers) -> String {
    let (n, m) = (randomness.roll(8), randomness.roll(22));
    match randomness.roll(30) {
        0..=9 => "abcdefghijklmnopqrstuvwxyz"
            .chars()
            .take(1 + usize::try_from(m).unwrap())
            .collect(),
        10..=13 => "\r\n".to_owned(),
        14 => format!("\x1b[{};{}H", n + 1, m + 1),
        15 => format!(
            "\x1b[{}{}",
            n,
            ["A", "B", "C", "D", "E", "F"][usize::try_from(m % 6).unwrap()]
        ),
        16 => format!("\x1b[{}J", n % 3),
        17 => format!("\x1b[{}K", n % 3),
        // Outside the region that scrolls tmux forgets to blank rows.
        18 => format!(
            "\x1b[r\x1b[{};{}H\x1b[{n}{}",
            n + 1,
            m + 1,
            ["L", "M"][usize::try_from(m % 2).unwrap()]
        ),
        19 => format!(
            "\x1b[{n}{}",
            ["P", "@", "X"][usize::try_from(m % 3).unwrap()]
        ),
        20 => format!("\x1b[{};{}r", n % 3 + 1, n % 3 + 3),
        21 => "\x1b[r".to_owned(),
        22 => ["\x1bM", "\x1bD", "\x1bE", "\n"][usize::try_from(n % 4).unwrap()].to_owned(),
        23 => ["\x1b7", "\x1b8"][usize::try_from(n % 2).unwrap()].to_owned(),
        24 => format!(
            "\x1b[{}{}",
            n % 3 + 1,
            ["S", "T"][usize::try_from(m % 2).unwrap()]
        ),
        25 => "\t".repeat(usize::try_from(n % 3).unwrap() + 1),
        26 => format!("\x1b[{}d\x1b[{}G", n + 1, m + 1),
        27 => ["\x1b[?7l", "\x1b[?7h", "\x1b[?7h"][usize::try_from(n % 3).unwrap()].to_owned(),
        28 => ["\x1b[4h", "\x1b[4l", "\x1b[4l"][usize::try_from(n % 3).unwrap()].to_owned(),
        _ => "\x08".repeat(usize::try_from(n).unwrap() + 1),
    }
}

#[test]
fn by_chance() {
    for seed in 0..20 {
        let mut randomness = SeededNumbers(seed);
        let mut script = format!("stty raw -echo # seed {seed}\nprintf '%b' '");
        for _ in 0..60 {
            for byte in sequence(&mut randomness).bytes() {
                write!(script, "\\0{byte:o}").expect("a string takes it");
            }
        }
        script.push('\'');
        same_at(&script, &SIZES);
    }
}
