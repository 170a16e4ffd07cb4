//! The size of `ARCHITECTURE.md`: one sitting, and few private words.

use super::files;

const BYTES_MAX: usize = 15 * 1024;
const WORDS_MAX: usize = 15;

#[test]
fn the_architecture_is_short() {
    let text = files::text("ARCHITECTURE.md");
    assert!(
        text.len() <= BYTES_MAX,
        "{} bytes, at most {BYTES_MAX}: move text to the documentation of its module",
        text.len()
    );
}

#[test]
fn the_glossary_is_short() {
    let text = files::text("ARCHITECTURE.md");
    let section = text.split("\n## ").find(|section| section.starts_with("Words\n")).expect("a glossary");
    let words: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(
        (10..=WORDS_MAX).contains(&words.len()),
        "{} words, at most {WORDS_MAX}: {words:#?}",
        words.len()
    );
}
