//! One file a command.

pub mod build;
pub mod bundle;
pub mod ci;
pub mod runner;
pub mod setup;
pub mod test;
