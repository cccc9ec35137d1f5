//! What the test kernels share: a header, a device, typed copies.

use falchion_sim::{Counters, Fault, Launch, LaunchError, Module, Settings, Simulator};

/// A module of one kernel `k` with 64-bit parameters named by `params`; the body declares its own registers.
pub fn module(params: &[&str], body: &str) -> Module {
    Module::parse(&text(params, body)).unwrap_or_else(|e| panic!("{e}\n{}", text(params, body)))
}

/// The text of [`module`].
pub fn text(params: &[&str], body: &str) -> String {
    let params: Vec<String> = params.iter().map(|p| format!(".param .u64 {p}")).collect();
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dynamic[];\n\
         .visible .entry k({})\n{{\n.reg .pred %p<16>;\n.reg .b16 %rs<64>;\n.reg .b32 %r<128>;\n.reg .b64 %rd<64>;\n{body}\n}}\n",
        params.join(", ")
    )
}

/// A device and one launch of kernel `k`.
pub struct Run {
    pub device: Simulator,
}

impl Run {
    pub fn new() -> Self {
        Self { device: Simulator::new(Settings::default()) }
    }

    /// A buffer that holds `words`.
    pub fn words(&self, words: &[u32]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let at = self.device.alloc(bytes.len()).unwrap();
        self.device.write(at, &bytes).unwrap();
        at
    }

    /// A buffer nothing has written.
    pub fn empty(&self, bytes: usize) -> u64 {
        self.device.alloc(bytes).unwrap()
    }

    pub fn read(&self, at: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.device.read(at, &mut bytes).unwrap();
        bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
    }

    pub fn launch(&self, module: &Module, launch: Launch, params: &[u64]) -> Result<Counters, LaunchError> {
        let params: Vec<[u8; 8]> = params.iter().map(|p| p.to_le_bytes()).collect();
        let params: Vec<&[u8]> = params.iter().map(|p| &p[..]).collect();
        self.device.launch(module, "k", &launch, &params)
    }

    /// Runs one block of `threads` threads with 16 KiB of dynamic shared memory.
    pub fn block(&self, module: &Module, threads: u32, params: &[u64]) -> Result<Counters, LaunchError> {
        self.launch(module, Launch::new([1, 1, 1], [threads, 1, 1]).dynamic_shared(16384), params)
    }

    /// The fault that a block of `threads` threads ends in.
    pub fn fault(&self, module: &Module, threads: u32, params: &[u64]) -> Fault {
        match self.block(module, threads, params) {
            Err(LaunchError::Fault(fault)) => *fault,
            other => panic!("a fault was planted, the launch gave {other:?}"),
        }
    }
}
