//! Code blocks.

use super::page::Page;

/// A code block.
pub(crate) struct Block {
    /// Path and line, for messages.
    pub(crate) place: String,
    pub(crate) language: String,
    pub(crate) text: String,
}

impl Block {
    pub(crate) fn of(page: &Page) -> Vec<Self> {
        let (mut blocks, mut open) = (Vec::<Self>::new(), false);
        for (number, line) in page.text.lines().enumerate() {
            if let Some(language) = line.strip_prefix("```") {
                open = !open;
                let place = format!("{}:{}", page.path, number + 1);
                if open {
                    blocks.push(Self { place, language: language.to_owned(), text: String::new() });
                }
            } else if let Some(block) = blocks.last_mut().filter(|_| open) {
                block.text.push_str(line);
                block.text.push('\n');
            }
        }
        assert!(!open, "{}: a code block does not end", page.path);
        blocks
    }
}

/// Documentation tests run the Rust blocks. Other tests check the other languages; output is `text`.
#[test]
fn every_block_of_the_book_is_checked() {
    let checked = ["rust", "toml", "yaml", "console", "sh", "text"];
    let manager = include_str!("../../examples/manager.rs");
    for block in Page::chapters().iter().flat_map(Page::blocks) {
        // The only block that is not a test shows a whole file, which is a program of its own.
        let is_file = block.language == "rust,ignore" && block.text.trim() == manager.trim();
        assert!(
            is_file || checked.contains(&block.language.as_str()),
            "{}: nothing checks blocks of `{}`",
            block.place,
            block.language
        );
    }
}
