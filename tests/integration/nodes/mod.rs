//! Agents of nodes: sessions, directives, and what becomes of containers when messages, agents or managers are lost.

mod adoption;
mod property;
mod scenarios;
mod world;
