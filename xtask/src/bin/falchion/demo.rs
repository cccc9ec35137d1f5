//! `demo`: products of every element type, each checked element by element.

use crate::{device, random::uniform, watchdog::Watchdog};
use anyhow::{Context, Result, bail};
use bytemuck::Pod;
use falchion::{
    Device, DeviceKind, Element, Event, Gemm, GemmArguments, Order, bf16, f16,
    reference::{self, Comparison, MatrixRef},
    sim::{Class, Counters},
};
use std::time::Duration;
use xtask::{
    arguments::{DemoArguments, Extents},
    table::Table,
};

/// Whole tiles, and extents that no tile divides.
const SMALL: [Extents; 2] = [Extents::cube(256), Extents { m: 123, n: 77, k: 200 }];
/// Enough work to see a GPU's speed.
const LARGE: Extents = Extents::cube(4096);
/// Runs on a GPU of which the median time is shown.
const REPETITIONS: usize = 9;
/// Far beyond what any of these takes.
const LIMIT: Duration = Duration::from_secs(120);

pub fn run(arguments: &DemoArguments) -> Result<()> {
    let device = device::open(arguments.backend)?;
    println!("device: {device}");
    let mut demo = Demo {
        products: Table::new([
            "type",
            "problem",
            "kernel",
            "max error",
            "error/bound",
            "relative l2",
            "time",
            "TFLOP/s",
            "verdict",
        ]),
        counts: Table::new([
            "kernel",
            "problem",
            "instructions",
            "ld.shared",
            "st.shared",
            "ldmatrix",
            "cp.async",
            "loads",
            "stores",
        ]),
        wrong: Vec::new(),
        device,
    };
    demo.of::<f32>()?;
    demo.of::<f16>()?;
    demo.of::<bf16>()?;
    print!("\n{}", demo.products);
    if !demo.counts.is_empty() {
        println!("\nwarp instructions; shared-memory bank conflicts of each kind of access; global sectors a request");
        print!("{}", demo.counts);
        println!("times are the simulation's: they say nothing about a GPU");
    }
    if demo.wrong.is_empty() {
        println!("\nevery product is within the error that rounding explains");
        return Ok(());
    }
    bail!("wrong products:\n{}", demo.wrong.join("\n"));
}

struct Demo {
    device: Device,
    products: Table,
    counts: Table,
    wrong: Vec<String>,
}

impl Demo {
    fn of<T: Element + Pod>(&mut self) -> Result<()> {
        for extents in SMALL {
            self.product::<T>(extents)?;
        }
        if self.device.info().kind == DeviceKind::Cuda {
            self.product::<T>(LARGE)?;
        }
        Ok(())
    }

    /// D = A·B with A row-major and B column-major, on poisoned output.
    fn product<T: Element + Pod>(&mut self, extents: Extents) -> Result<()> {
        let Extents { m, n, k } = extents;
        let (a, b): (Vec<T>, Vec<T>) = (uniform(m * k, 1), uniform(k * n, 2));
        let gemm = Gemm::<T>::new(m as u64, n as u64, k as u64).b(Order::ColumnMajor);
        let plan = gemm.plan(&self.device)?;
        let (device_a, device_b) = (self.device.upload(&a)?, self.device.upload(&b)?);
        let d = self.device.alloc::<T>(m * n)?;
        d.as_slice().fill_bytes(0xFF)?;
        let arguments = GemmArguments::new(&device_a, &device_b, &d);
        let kernel = plan.kernel_for(&arguments)?;
        let watch = Watchdog::new(format!("kernel {kernel} on {extents}"), LIMIT);
        let stream = self.device.default_stream()?;
        let (begin, end) = (Event::new(&self.device)?, Event::new(&self.device)?);
        drop(self.device.take_counters());
        let timed = || -> Result<Duration> {
            begin.record(&stream)?;
            plan.run(&stream, arguments)?;
            end.record(&stream)?;
            Ok(end.elapsed_since(&begin)?)
        };
        let mut times = vec![timed().with_context(|| format!("kernel {kernel} on {extents}"))?];
        let actual = d.download()?;
        if let Some(counters) = self.device.take_counters() {
            self.count(kernel, extents, &counters);
        } else {
            times = (0..REPETITIONS).map(|_| timed()).collect::<Result<_>>()?;
            times.sort();
        }
        let time = times[times.len() / 2];
        drop(watch);
        println!("  {} {extents}: computed, checking", T::KIND);
        let reference = reference::gemm(
            1.0,
            &MatrixRef::packed(&a, m, k, Order::RowMajor),
            &MatrixRef::packed(&b, k, n, Order::ColumnMajor),
            0.0,
            None,
        )?;
        let actual = MatrixRef::packed(&actual, m, n, Order::RowMajor);
        let comparison = reference.compare(&actual, plan.accumulation())?;
        self.report(kernel, T::KIND.name(), extents, time, &comparison);
        Ok(())
    }

    fn report(&mut self, kernel: &str, dtype: &str, extents: Extents, time: Duration, comparison: &Comparison) {
        let passes = comparison.passes();
        if !passes {
            self.wrong.push(format!("{kernel} on {extents}: {comparison}"));
        }
        let tflops = extents.flops() / time.as_secs_f64() / 1e12;
        let gpu = self.device.info().kind == DeviceKind::Cuda;
        self.products.row([
            dtype.to_owned(),
            extents.to_string(),
            kernel.to_owned(),
            format!("{:.2e}", comparison.max_error),
            format!("{:.4}", comparison.max_ratio),
            format!("{:.2e}", comparison.relative_l2),
            if gpu { format!("{:.1} us", time.as_secs_f64() * 1e6) } else { format!("{:.3} s", time.as_secs_f64()) },
            if gpu { format!("{tflops:.2}") } else { "-".to_owned() },
            if passes { "correct" } else { "WRONG" }.to_owned(),
        ]);
    }

    fn count(&mut self, kernel: &str, extents: Extents, counters: &Counters) {
        let sectors = |classes: &[Class]| {
            let counts: Vec<_> = classes.iter().map(|class| counters.class(*class)).collect();
            let requests: u64 = counts.iter().map(|count| count.global_requests).sum();
            let sectors: u64 = counts.iter().map(|count| count.sectors).sum();
            if requests == 0 { "-".to_owned() } else { format!("{:.2}", sectors as f64 / requests as f64) }
        };
        self.counts.row([
            kernel.to_owned(),
            extents.to_string(),
            counters.total().warps.to_string(),
            counters.class(Class::SharedLoad).conflicts.to_string(),
            counters.class(Class::SharedStore).conflicts.to_string(),
            counters.opcode("ldmatrix").conflicts.to_string(),
            counters.opcode("cp.async").conflicts.to_string(),
            sectors(&[Class::GlobalLoad, Class::AsyncCopy]),
            sectors(&[Class::GlobalStore]),
        ]);
    }
}
