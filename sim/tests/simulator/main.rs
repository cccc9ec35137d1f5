//! Whole kernels on the simulator, one file a property.

mod arithmetic;
mod asynchronous;
mod collectives;
mod common;
mod control;
mod conversions;
mod copies;
mod counters;
mod faults;
mod grids;
mod hopper;
mod matrices;
mod refusals;
mod spaces;
mod warpgroups;
