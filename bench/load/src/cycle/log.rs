//! The log: one compact record for each change, and a checksum for the records of a group.

use std::hint::black_box;

use super::ids::Id;

const ASKED: u8 = 1;
const PLACED: u8 = 2;
const ENDED: u8 = 3;

#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    frame: Vec<u8>,
    /// Checksum of the last group.
    checksum: u32,
}

impl Log {
    pub(super) fn asked(&mut self, ask: Id, application: u32, kind: u32) {
        self.record(ASKED, ask, [application, kind]);
    }

    pub(super) fn placed(&mut self, ask: Id, container: Id, node: u32) {
        self.record(PLACED, ask, [container.slot, node]);
    }

    pub(super) fn ended(&mut self, container: Id) {
        self.record(ENDED, container, []);
    }

    fn record<const N: usize>(&mut self, tag: u8, id: Id, facts: [u32; N]) {
        self.frame.push(tag);
        self.frame.extend_from_slice(&id.slot.to_le_bytes());
        self.frame.extend_from_slice(&id.generation.to_le_bytes());
        facts.iter().for_each(|fact| self.frame.extend_from_slice(&fact.to_le_bytes()));
    }

    /// Ends a group. No disk is written, as `throughput` writes none.
    pub(super) fn end_group(&mut self) {
        self.checksum = crc32fast::hash(&self.frame);
        black_box((&self.frame, self.checksum));
        self.frame.clear();
    }
}
