//! Sentences in comments, messages and documents: their length, and `is no` for `is not a`.

use std::path::Path;

use super::files;

/// A reader loses the thread of a longer sentence.
const MOST_WORDS: usize = 25;

/// These words end in a full stop, but no sentence ends with them.
const ABBREVIATIONS: [&str; 4] = ["e.g.", "i.e.", "cf.", "vs."];

/// A string that begins with one of these is a command line.
const PROGRAMS: [&str; 3] = ["apportion-bench", "cargo", "git"];

/// One sentence: its first line, and its words.
type Sentence = (usize, Vec<String>);

/// After `is no`, these words begin no noun.
const AFTER_IS_NO: [&str; 9] =
    ["longer", "more", "less", "greater", "later", "earlier", "larger", "smaller", "such"];

#[test]
fn no_sentence_has_more_than_25_words() {
    let long = sentences_that(is_long);
    assert!(long.is_empty(), "split these {} sentences:\n{}", long.len(), long.join("\n"));
}

/// English says that a thing `is not a` container, and that there `is no` container.
#[test]
fn no_sentence_says_that_a_thing_is_no_other() {
    let wrong = sentences_that(says_is_no);
    assert!(wrong.is_empty(), "say `is not a`:\n{}", wrong.join("\n"));
}

/// The places and the first words of all such sentences.
fn sentences_that(is_wrong: impl Fn(&Sentence) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    add(files::root().as_path(), &is_wrong, &mut found);
    found.sort();
    found
}

fn add(folder: &Path, is_wrong: &impl Fn(&Sentence) -> bool, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            if (!name.starts_with('.') || name == ".ci") && name != "target" {
                add(&path, is_wrong, found);
            }
            continue;
        }
        let find = match name.rsplit_once('.') {
            Some((_, "rs")) if is_test(&path) => in_comments,
            Some((_, "rs")) => in_source,
            Some((before, "md")) if before != "CHANGELOG" => in_document,
            Some((_, "yaml" | "sh")) => in_script,
            None if is_script(&path) => in_script,
            _ => continue,
        };
        let text = std::fs::read_to_string(&path).expect("readable text");
        let path = path.strip_prefix(files::root()).unwrap_or(&path).display();
        for (line, words) in find(&text).into_iter().filter(is_wrong) {
            let first = words[..words.len().min(8)].join(" ");
            found.push(format!("{path}:{line}: {} words: {first} ...", words.len()));
        }
    }
}

fn says_is_no(sentence: &Sentence) -> bool {
    let words: Vec<String> = sentence.1.iter().map(|word| word.to_lowercase()).collect();
    let is_verb = |word: &str| matches!(word, "is" | "was");
    words.windows(4).any(|at| {
        let is_noun = at[3].starts_with(char::is_alphabetic) && !AFTER_IS_NO.contains(&at[3].as_str());
        at[0] != "there" && is_verb(&at[1]) && at[2] == "no" && is_noun
    })
}

fn is_long(sentence: &Sentence) -> bool {
    sentence.1.len() > MOST_WORDS
}

/// Strings in tests are inputs more often than messages.
fn is_test(path: &Path) -> bool {
    let path = path.strip_prefix(files::root()).unwrap_or(path);
    path.components().any(|part| part.as_os_str() == "tests") || path.to_string_lossy().ends_with("tests.rs")
}

fn in_source(source: &str) -> Vec<Sentence> {
    in_comments(source).into_iter().chain(in_messages(source)).collect()
}

/// The sentences of messages: of all strings outside comments and tests. A line ends a sentence, and a field is a word.
/// Code, style sheets and command lines in strings are none.
fn in_messages(source: &str) -> Vec<Sentence> {
    let shipped = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or(source);
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let (mut sentences, mut text, mut first, mut is_inside) = (Vec::new(), String::new(), 1, false);
    for (number, line) in (1..).zip(shipped.lines()) {
        if !is_inside && is_comment(&line) {
            continue;
        }
        let mut letters = line.trim_start().chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\'' if !is_inside && letters.peek() == Some(&'"') => drop(letters.next()),
                '/' if !is_inside && letters.peek() == Some(&'/') => break,
                '"' if is_inside => {
                    let of_text = text.split("\n\n").flat_map(|text| split(text, first));
                    sentences.extend(of_text.filter(|(_, words)| is_prose(words)));
                    (is_inside, text) = (false, String::new());
                }
                '"' => (is_inside, first) = (true, number),
                '\\' if is_inside => match letters.next() {
                    Some('n') => text.push_str("\n\n"),
                    Some(other) => text.push(other),
                    None => {}
                },
                letter if is_inside => text.push(letter),
                _ => {}
            }
        }
        if is_inside {
            text.push(' ');
        }
    }
    sentences
}

/// Whether words are not code, style sheet or command line.
fn is_prose(words: &[String]) -> bool {
    let is_code = |word: &String| {
        word.contains([';', '=']) && !word.ends_with(';') || word.starts_with('{') && word.ends_with(':')
    };
    let is_command =
        words.first().is_some_and(|word| word.starts_with("--") || PROGRAMS.contains(&word.as_str()));
    !is_command && !words.iter().any(is_code)
}

fn is_script(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"#!"))
}

/// The sentences of a script's comments and of the texts that it prints. Other lines are blank lines of a document.
fn in_script(script: &str) -> Vec<Sentence> {
    let mut is_text = false;
    let lines = script.lines().map(|line| {
        let line = line.trim();
        let was_text = is_text;
        is_text = if is_text { line != "END" } else { line.ends_with("<<'END'") || line.ends_with("<<END") };
        match line.strip_prefix('#') {
            _ if was_text && is_text && !line.starts_with("--") => line,
            Some(comment) if !was_text && !comment.starts_with('!') => comment,
            _ => "",
        }
    });
    in_document(&lines.collect::<Vec<_>>().join("\n"))
}

/// The sentences of comments that have lines of their own. Each block is a document.
fn in_comments(source: &str) -> Vec<Sentence> {
    let (mut sentences, mut block, mut first, mut open) = (Vec::new(), String::new(), 1, "");
    let lines = source.lines().map(str::trim_start).chain([""]);
    for (number, line) in (1..).zip(lines) {
        let marker = ["///", "//!", "//"].into_iter().find(|marker| line.starts_with(marker)).unwrap_or("");
        if marker != open {
            let found = in_document(&std::mem::take(&mut block));
            sentences.extend(found.into_iter().map(|(line, words)| (first + line - 1, words)));
            (first, open) = (number, marker);
        }
        if !marker.is_empty() {
            block += line[marker.len()..].trim_end();
            block.push('\n');
        }
    }
    sentences
}

/// The sentences of a text in Markdown. A paragraph, a heading, an item of a list and a cell of a table end one.
fn in_document(text: &str) -> Vec<Sentence> {
    let (mut sentences, mut paragraph, mut first, mut fence) = (Vec::new(), String::new(), 1, None);
    for (number, line) in (1..).zip(text.lines().chain([""])) {
        let line = line.trim().trim_start_matches("> ");
        let item = behind_mark(line);
        let is_heading = line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
        let is_row = line.starts_with('|');
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        let is_closed = fence.is_some() && mark == fence;
        if line.is_empty() || is_heading || is_row || item.is_some() || mark.is_some() {
            sentences.extend(split(&std::mem::take(&mut paragraph), first));
            first = number;
        }
        if fence.is_some() || mark.is_some() {
            fence = if is_closed { None } else { fence.or(mark) };
        } else if is_row {
            let cells = plain(line);
            sentences.extend(cells.split('|').flat_map(|cell| split(cell, number)));
        } else {
            if paragraph.is_empty() {
                first = number;
            }
            paragraph += item.unwrap_or(line);
            paragraph.push('\n');
        }
        if is_heading {
            sentences.extend(split(&std::mem::take(&mut paragraph), first));
        }
    }
    sentences
}

/// The text behind the mark of an item of a list: `- `, `* `, `+ `, `1. ` or `1) `.
fn behind_mark(line: &str) -> Option<&str> {
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let marks: &[&str] = if behind.len() < line.len() { &[". ", ") "] } else { &["- ", "* ", "+ "] };
    marks.iter().find_map(|mark| behind.strip_prefix(mark))
}

/// The sentences of one paragraph that begins in a line.
fn split(paragraph: &str, first: usize) -> Vec<Sentence> {
    let (mut sentences, mut words, mut begun) = (Vec::new(), Vec::new(), first);
    for (line, text) in (first..).zip(plain(paragraph).split('\n')) {
        for word in text.split_whitespace() {
            if words.is_empty() {
                begun = line;
            }
            // A sign like `%` or `+` is not a word, but may end a sentence.
            if word.contains(char::is_alphanumeric) {
                words.push(word.to_owned());
            }
            let word = word.trim_start_matches(['(', '"', '*', '_']);
            let end = word.trim_end_matches(['"', '\'', ')', '*', '_']);
            if end.ends_with(['.', '!', '?']) && !ABBREVIATIONS.contains(&word) {
                sentences.push((begun, std::mem::take(&mut words)));
            }
        }
    }
    sentences.push((begun, words));
    sentences
}

/// The text of a paragraph with a word for each piece of inline code, and without the targets of links.
fn plain(paragraph: &str) -> String {
    let (mut plain, mut rest, mut line_ends) = (String::new(), paragraph, 0);
    while let Some(c) = rest.chars().next() {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let code = rest[ticks..].find(&rest[..ticks]).filter(|_| ticks > 0);
        let target = [("](", ')'), ("][", ']')].into_iter().find(|(begin, _)| rest.starts_with(begin));
        let skipped = match (code, target) {
            (Some(length), _) => length + 2 * ticks,
            (None, Some((_, end))) => rest[2..].find(end).map_or(1, |length| length + 3),
            (None, None) => c.len_utf8(),
        };
        if code.is_some() {
            plain += "code";
        } else if c == '\n' || (c == ' ' && line_ends > 0) {
            // A line that ends inside code or inside a target ends behind the word.
            plain += &"\n".repeat(line_ends);
            line_ends = 0;
        }
        if code.is_some() || target.is_some() {
            line_ends += rest[..skipped].matches('\n').count();
        } else if !['[', ']'].contains(&c) {
            plain.push(c);
        }
        rest = &rest[skipped..];
    }
    plain
}

#[test]
fn a_sentence_of_26_words_is_found_and_one_of_25_is_not() {
    let words = |count: usize| vec!["word"; count].join(" ");
    let counts = |sentences: Vec<Sentence>| -> Vec<(usize, usize)> {
        let counts = sentences.into_iter().map(|(line, words)| (line, words.len()));
        counts.filter(|(_, count)| *count > 0).collect()
    };
    let is_found = |count| in_document(&words(count)).iter().any(is_long);
    assert_eq!([25, 26].map(is_found), [false, true]);
    // Abbreviations, numbers, code and links do not end a sentence, and each is one word.
    let text = format!("Short.\nIt has e.g. 2.7 `pieces of\ncode`, [a](link to.) and {}. End", words(24));
    assert_eq!(counts(in_document(&text)), [(1, 1), (2, 31), (3, 1)]);
    let source =
        format!("    /// {}.\n    // {}\n    // {}\nlet a = 1; // no\n", words(30), words(9), words(22));
    assert_eq!(counts(in_comments(&source)), [(1, 30), (2, 31)]);
    let message = format!(
        "let a = '\"'; // \"no\nsay(\"{}. {{field}} \\\n {}\\n{}\", 1);",
        words(3),
        words(25),
        words(9)
    );
    assert_eq!(counts(in_messages(&message)), [(2, 3), (2, 26), (2, 9)]);
    let list = format!("# A heading\n{}:\n* {}\n1. {}\n", words(3), words(20), words(20));
    assert_eq!(counts(in_document(&list)), [(1, 2), (2, 3), (3, 20), (4, 20)]);
    let table = format!("| `a|b` {} | {} |\n|---|---|\n", words(20), words(20));
    assert_eq!(counts(in_document(&table)), [(1, 21), (1, 20)]);
    let code = format!("One.\n```text\n{}\n```\n{}\n", words(40), words(31));
    assert_eq!(counts(in_document(&code)), [(1, 1), (5, 31)]);
}
