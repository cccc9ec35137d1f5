//! `bench gemm`: our kernels beside cuBLASLt, on one GPU, in one process, on the same matrices.
//!
//! Before every run a memset larger than the level-2 cache evicts the operands. The two arms take turns (ours, cuBLASLt,
//! cuBLASLt, ours), so that clocks and temperature favour neither. Both results are compared in the same run. Times are
//! medians over rounds; clocks cannot be locked everywhere, so clock and power are recorded beside them.

mod arm;
mod cublas;
mod nvml;

use crate::{device, random::uniform, watchdog::Watchdog};
use anyhow::{Context, Result, bail};
use arm::{Arm, Ours, Theirs};
use bytemuck::Pod;
use cublas::CublasLt;
use falchion::{Buffer, Device, DeviceKind, Element, Gemm, GemmArguments, Order, bf16, f16};
use nvml::Telemetry;
use std::{rc::Rc, time::Duration};
use xtask::{
    arguments::{BackendChoice, BenchGemmArguments, Dtype, Extents},
    bench::{
        agreement,
        report::{Report, Row},
        suite::{self, Case},
    },
    failure::describe,
};

/// A flush writes this many times the level-2 cache.
const FLUSH_FACTOR: u64 = 3;
/// Unmeasured runs of each arm take at least this long in all: clocks leave their idle state.
const WARM_UP_US: f64 = 20_000.0;
/// Runs shorter than this scatter more, so they get three times the rounds.
const SHORT_US: f64 = 100.0;

pub fn run(arguments: &BenchGemmArguments) -> Result<()> {
    let cases = suite::cases(arguments)?;
    let device = device::open(BackendChoice::Auto)?;
    if device.info().kind != DeviceKind::Cuda {
        bail!(
            "`bench gemm` measures GPUs and there is none: times on the {} say nothing about a GPU",
            device.info().name
        );
    }
    println!("device: {device}");
    let cublas = Rc::new(CublasLt::load()?);
    println!("reference: {} ({})", cublas.version(), cublas.path().display());
    let telemetry = Telemetry::start();
    if let Err(reason) = &telemetry {
        println!("clock and power are not recorded: {}", describe(reason));
    }
    let mut bench = Bench {
        flush: device.alloc(usize::try_from(device.info().l2_bytes.max(1 << 20) * FLUSH_FACTOR)?)?,
        report: Report::new(suite::name(arguments), &device.info().name, device.info().driver.map(|it| it.to_string())),
        device,
        cublas,
        telemetry: telemetry.ok(),
        arguments: arguments.clone(),
    };
    for (index, case) in cases.iter().enumerate() {
        println!("{}/{} {} {}", index + 1, cases.len(), case.dtype, case.problem());
        match case.dtype {
            Dtype::F32 => bench.measure::<f32>(case)?,
            Dtype::F16 => bench.measure::<f16>(case)?,
            Dtype::Bf16 => bench.measure::<bf16>(case)?,
        }
    }
    if let Some(telemetry) = &bench.telemetry {
        bench.report.add(telemetry.summary());
    }
    print!("\n{}", bench.report.table());
    if let Some(path) = &arguments.json {
        bench.report.write(path)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

struct Bench {
    device: Device,
    cublas: Rc<CublasLt>,
    flush: Buffer<u8>,
    telemetry: Option<Telemetry>,
    report: Report,
    arguments: BenchGemmArguments,
}

impl Bench {
    fn measure<T: Element + Pod>(&mut self, case: &Case) -> Result<()> {
        let Extents { m, n, k } = case.extents;
        let [a_order, b_order] =
            case.orders.row_major().map(|rows| if rows { Order::RowMajor } else { Order::ColumnMajor });
        let gemm = Gemm::<T>::new(m as u64, n as u64, k as u64).a(a_order).b(b_order);
        let candidates = gemm.plan(&self.device)?.candidates().to_vec();
        let (a, b) = (self.device.upload(&uniform::<T>(m * k, 1))?, self.device.upload(&uniform::<T>(k * n, 2))?);
        let (ours, theirs) = (self.device.alloc::<T>(m * n)?, self.device.alloc::<T>(m * n)?);
        let matmul = self.cublas.matmul::<T>(case, [a.address(), b.address(), theirs.address()], &self.device)?;
        let mut reference = Theirs::new(matmul).context("cuBLASLt's stream")?;
        for kernel in case.kernels(&candidates)? {
            let plan = gemm.clone().kernel(kernel).plan(&self.device)?;
            let mut arm = Ours::new(&self.device, &plan, GemmArguments::new(&a, &b, &ours))?;
            for output in [&ours, &theirs] {
                output.as_slice().fill_bytes(0xFF)?;
            }
            let name = format!("{kernel} beside cuBLASLt on {}", case.problem());
            let limit = Duration::from_secs(self.arguments.timeout);
            let watch = Watchdog::new(name.clone(), limit);
            let short = self.warm_up([&mut arm, &mut reference])?;
            agree(&ours, &theirs, k).with_context(|| name.clone())?;
            drop(watch);
            let rounds = self.arguments.rounds * if short { 3 } else { 1 };
            let mut times = [Vec::new(), Vec::new()];
            let _busy = self.telemetry.as_ref().map(Telemetry::busy);
            for _ in 0..rounds {
                let _watch = Watchdog::new(name.clone(), limit);
                let [first, second, third, fourth] = [
                    self.run_once(&mut arm)?,
                    self.run_once(&mut reference)?,
                    self.run_once(&mut reference)?,
                    self.run_once(&mut arm)?,
                ];
                times[0].push(f64::midpoint(first, fourth));
                times[1].push(f64::midpoint(second, third));
            }
            let row = Row::new(case, kernel, &self.cublas.version(), times);
            println!("  {row}");
            self.report.push(row, case.extents.flops());
        }
        Ok(())
    }

    /// Runs both arms until the clocks are up; tells whether either takes little time.
    fn warm_up(&self, arms: [&mut dyn Arm; 2]) -> Result<bool> {
        let mut short = false;
        for arm in arms {
            let (mut spent, mut latest) = (0.0, 0.0);
            while spent < WARM_UP_US {
                latest = self.run_once(arm)?;
                // An empty kernel takes a few microseconds: the loop ends whatever the clock says.
                spent += latest.max(1.0);
            }
            short |= latest < SHORT_US;
        }
        Ok(short)
    }

    /// Microseconds of one run with cold caches.
    ///
    /// The flush takes longer than issuing the run, so that the run starts when the flush ends and no issue time is measured.
    fn run_once(&self, arm: &mut (impl Arm + ?Sized)) -> Result<f64> {
        self.flush.as_slice().fill_bytes(0)?;
        arm.run()
    }
}

/// Compares the two results.
fn agree<T: Element + Pod>(ours: &Buffer<T>, theirs: &Buffer<T>, k: usize) -> Result<()> {
    let (ours, theirs) = (ours.download()?, theirs.download()?);
    let wide = |value: &T| f64::from(value.to_f32());
    agreement::check(ours.iter().map(wide), theirs.iter().map(wide), T::KIND.unit_roundoff(), k)
}
