//! One word for each concept, the field's own: words that this project once used stay out of code, comments, messages
//! and documents.

use std::path::Path;

use super::files;
use super::source::Source;

/// Former words with their replacements. A name is cut at `_` and before capitals, so `is_noted` contains `noted`.
const FORMER: [(&str, &str); 35] = [
    ("claim", "reservation"),
    ("claims", "reservations"),
    ("claimed", "reserved"),
    ("guest", "borrowed container"),
    ("guests", "borrowed containers"),
    ("lodging", "a partition share with `borrowed`"),
    ("lodger", "borrowed container"),
    ("footing", "partition share"),
    ("twins", "borrowed variants"),
    ("kept room", "blocked headroom"),
    ("keeper", "the lane that blocks headroom"),
    ("awaits", "blocks headroom, waits for"),
    ("kept out", "without headroom"),
    ("relieved", "woken"),
    ("noted", "registered, recorded"),
    ("wishes", "locality preference"),
    ("located", "has locality"),
    ("came second", "lost race"),
    ("unlucky", "starved"),
    ("rescue", "placed by the committer"),
    ("rescued", "placed by the committer"),
    ("tenants", "limit holders"),
    ("settle", "recompute, fulfil: the step's own verb"),
    ("settles", "recompute, fulfil: the step's own verb"),
    ("settled", "recomputed, fulfilled: the step's own verb"),
    ("judge", "validate"),
    ("judged", "validated"),
    ("hears", "receives"),
    ("heard", "received"),
    ("roster", "node shards"),
    ("adaption", "concurrency limit"),
    ("wish", "locality preference"),
    ("hear", "receive, on_event"),
    ("whoever", "the noun"),
    ("somebody", "the noun"),
];

/// Former words that prose needs in another sense. Names in the libraries' code do without them.
const FORMER_NAMES: [(&str, &str); 5] = [
    ("account", "limit usage"),
    ("tenant", "limit holder"),
    ("home", "lease pool"),
    ("going", "checked out"),
    ("twin", "borrowed variant"),
];

#[test]
fn former_words_are_gone() {
    let mut found = Vec::new();
    search(files::root().as_path(), &mut found);
    assert!(found.is_empty(), "former words:\n{}", found.join("\n"));
}

#[test]
fn former_names_are_gone() {
    let folders = ["scheduler/src", "formats/src", "placement/src"];
    let sources: Vec<Source> = folders.into_iter().flat_map(Source::of).collect();
    let lines = sources.iter().flat_map(|source| source.lines_with(""));
    let is_former = |word: &String| FORMER_NAMES.iter().any(|(former, _)| word == former);
    let found: Vec<String> = lines.filter(|line| words(code_of(line)).iter().any(is_former)).collect();
    assert!(found.is_empty(), "former names {FORMER_NAMES:?}:\n{}", found.join("\n"));
}

/// A line without its place and without a comment at its end.
fn code_of(line: &str) -> &str {
    let code = line.split_once(": ").map_or(line, |(_, code)| code);
    code.split(" //").next().unwrap_or(code)
}

#[test]
fn a_former_word_is_found_in_names_and_prose() {
    let text = "let is_claimed = 1; // They claimed.\nstruct ClaimTime;";
    let found: Vec<_> = former(text).map(|(line, word, _)| (line, word)).collect();
    assert_eq!(found, [(1, "claimed"), (1, "claimed"), (2, "claim")]);
    assert_eq!(former("the claim came second;").count(), 2);
    assert_eq!(former("fn kept_room(&self) -> CameSecond").count(), 2);
    assert_eq!(former("a disclaimer, unnoted, the second came").count(), 0);
}

fn search(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" {
                search(&path, found);
            }
            continue;
        }
        let is_text =
            [".rs", ".md", ".toml", ".patch", ".yaml", ".json"].iter().any(|ending| name.ends_with(ending));
        // The change log says which names changed.
        if !is_text || name == "CHANGELOG.md" || path.ends_with("tidy/words.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable text");
        let path = path.strip_prefix(files::root()).unwrap_or(&path).display().to_string();
        found.extend(
            former(&text).map(|(line, word, instead)| format!("{path}:{line}: {word} (now: {instead})")),
        );
    }
}

/// The lines with former words.
pub(crate) fn former(text: &str) -> impl Iterator<Item = (usize, &'static str, &'static str)> {
    text.lines().enumerate().flat_map(|(number, line)| {
        let words = words(line);
        let is_there = |former: &str| {
            let former: Vec<&str> = former.split(' ').collect();
            words.windows(former.len()).filter(|words| **words == former[..]).count()
        };
        let found = FORMER
            .into_iter()
            .flat_map(|(word, instead)| std::iter::repeat_n((number + 1, word, instead), is_there(word)));
        found.collect::<Vec<_>>()
    })
}

/// The words of a line in lower case, with names cut into theirs.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in line.chars() {
        if !letter.is_ascii_alphabetic() || (letter.is_ascii_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = letter.is_ascii_lowercase();
        if letter.is_ascii_alphabetic() {
            words.last_mut().expect("one word at least").push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
