//! `bench sim`: how fast the simulator is.

use crate::random::uniform;
use anyhow::{Result, bail};
use bytemuck::Pod;
use falchion::{Backend, Device, Element, Gemm, GemmArguments, Order, f16};
use std::time::Instant;
use xtask::{arguments::Extents, table::Table};

const EXTENTS: Extents = Extents::cube(256);
const RUNS: usize = 3;

pub fn run() -> Result<()> {
    let device = Device::open(Backend::Sim)?;
    println!("device: {device}, {} cores", std::thread::available_parallelism()?);
    let mut table = Table::new(["type", "problem", "kernel", "seconds", "limit", "warp instructions/s"]);
    // The limits hold for an optimised build on two cores.
    let slow = [measure::<f16>(&device, 2.0, &mut table)?, measure::<f32>(&device, 5.0, &mut table)?];
    print!("{table}");
    if slow.contains(&true) {
        bail!("the simulator is slower than its limit; an optimised build on two idle cores is expected to be faster");
    }
    Ok(())
}

/// Median seconds of a product, and whether they are beyond the limit.
fn measure<T: Element + Pod>(device: &Device, limit: f64, table: &mut Table) -> Result<bool> {
    let Extents { m, n, k } = EXTENTS;
    let plan = Gemm::<T>::new(m as u64, n as u64, k as u64).b(Order::ColumnMajor).plan(device)?;
    let (a, b) = (device.upload::<T>(&uniform(m * k, 1))?, device.upload::<T>(&uniform(k * n, 2))?);
    let d = device.alloc::<T>(m * n)?;
    let stream = device.default_stream()?;
    let mut seconds = Vec::new();
    let mut instructions = 0;
    for _ in 0..RUNS {
        let started = Instant::now();
        plan.run(&stream, GemmArguments::new(&a, &b, &d))?;
        stream.synchronize()?;
        seconds.push(started.elapsed().as_secs_f64());
        instructions = device.take_counters().map_or(0, |counters| counters.total().warps);
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[RUNS / 2];
    table.row([
        T::KIND.to_string(),
        EXTENTS.to_string(),
        plan.kernel_name().to_owned(),
        format!("{median:.3}"),
        format!("{limit:.1}"),
        format!("{:.3e}", instructions as f64 / median),
    ]);
    Ok(median > limit)
}
