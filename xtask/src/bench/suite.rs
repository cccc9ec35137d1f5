//! What is measured, as data.

use crate::arguments::{BenchGemmArguments, Dtype, Extents, OperandOrders};
use anyhow::{Context, Result, bail};

/// A named set of problems.
struct Suite {
    name: &'static str,
    groups: &'static [Group],
}

/// Every combination of its types, orders and extents.
struct Group {
    dtypes: &'static [Dtype],
    orders: &'static [OperandOrders],
    extents: &'static [Extents],
    /// What the names of the kernels to measure contain.
    kernel: &'static [&'static str],
}

const SIXTEEN_BITS: &[Dtype] = &[Dtype::F16, Dtype::Bf16];
/// The tensor-op kernels with the largest tile and the widest access.
const LARGE_TENSOR_OP: &[&str] = &["_s16816gemm_", "_128x128_", "_align8"];
const OTHER_ORDERS: &[OperandOrders] = &[OperandOrders::Nn, OperandOrders::Tt, OperandOrders::Nt];

/// The kernel that the plan chooses.
const PLANNED: &[&str] = &[];
/// Weights of language models (DeepSeek-V3, Llama-3-70B) by a batch of 4,096 tokens.
const MODEL_WEIGHTS: &[Extents] = &[
    Extents { m: 4096, n: 2112, k: 7168 },
    Extents { m: 4096, n: 4096, k: 7168 },
    Extents { m: 4096, n: 7168, k: 2048 },
    Extents { m: 4096, n: 7168, k: 16384 },
    Extents { m: 4096, n: 24576, k: 1536 },
    Extents { m: 4096, n: 10240, k: 8192 },
    Extents { m: 4096, n: 8192, k: 28672 },
];

const SUITES: &[Suite] = &[
    Suite {
        name: "gemm-foundation",
        groups: &[
            Group {
                dtypes: SIXTEEN_BITS,
                orders: &[OperandOrders::Tn],
                extents: &[Extents::cube(1024), Extents::cube(2048), Extents::cube(4096), Extents::cube(8192)],
                kernel: LARGE_TENSOR_OP,
            },
            Group {
                dtypes: SIXTEEN_BITS,
                orders: OTHER_ORDERS,
                extents: &[Extents::cube(4096)],
                kernel: LARGE_TENSOR_OP,
            },
            Group {
                dtypes: &[Dtype::F32],
                orders: &[OperandOrders::Tn],
                extents: &[Extents::cube(1024), Extents::cube(2048), Extents::cube(4096)],
                kernel: &["_simt_"],
            },
            Group { dtypes: &[Dtype::F32], orders: OTHER_ORDERS, extents: &[Extents::cube(4096)], kernel: &["_simt_"] },
        ],
    },
    Suite {
        name: "gemm-hopper",
        groups: &[
            Group {
                dtypes: SIXTEEN_BITS,
                orders: &[OperandOrders::Tn],
                extents: &[
                    Extents::cube(1024),
                    Extents::cube(1536),
                    Extents::cube(2048),
                    Extents::cube(3072),
                    Extents::cube(4096),
                    Extents::cube(6144),
                    Extents::cube(8192),
                    Extents::cube(16384),
                ],
                kernel: PLANNED,
            },
            Group { dtypes: SIXTEEN_BITS, orders: &[OperandOrders::Tn], extents: MODEL_WEIGHTS, kernel: PLANNED },
            Group { dtypes: SIXTEEN_BITS, orders: OTHER_ORDERS, extents: &[Extents::cube(4096)], kernel: PLANNED },
        ],
    },
];

/// Which kernels of those that compute a problem.
#[derive(Clone, Debug)]
pub enum Choice {
    /// The first that has all of these in its name.
    First(&'static [&'static str]),
    /// Each.
    All,
}

/// One problem.
#[derive(Clone, Debug)]
pub struct Case {
    /// Type of all operands.
    pub dtype: Dtype,
    /// Storage of A and B; D is row-major.
    pub orders: OperandOrders,
    /// m, n, k.
    pub extents: Extents,
    /// Which kernels are measured.
    pub choice: Choice,
}

impl Case {
    /// Orders and extents, as in `tn 4096x4096x4096`.
    #[must_use]
    pub fn problem(&self) -> String {
        format!("{} {}", self.orders, self.extents)
    }

    /// The kernels to measure among those that compute the problem, best first.
    ///
    /// # Errors
    /// When none has the name that the suite asks for.
    pub fn kernels<'a>(&self, candidates: &[&'a str]) -> Result<Vec<&'a str>> {
        let parts = match &self.choice {
            Choice::All => return Ok(candidates.to_vec()),
            Choice::First(parts) => parts,
        };
        let found = candidates.iter().find(|name| parts.iter().all(|part| name.contains(part)));
        let found = found.with_context(|| {
            let problem = self.problem();
            format!("no kernel for {} {problem} has {parts:?} in its name; there are {candidates:?}", self.dtype)
        })?;
        Ok(vec![*found])
    }
}

/// The problems that the arguments ask for.
///
/// # Errors
/// When there is no such suite, or nothing of it is left.
pub fn cases(arguments: &BenchGemmArguments) -> Result<Vec<Case>> {
    let mut cases = if arguments.mnk.is_empty() { of_suite(&arguments.suite)? } else { of_extents(arguments) };
    cases.retain(|case| arguments.dtype.is_empty() || arguments.dtype.contains(&case.dtype));
    cases.retain(|case| arguments.orders.is_empty() || arguments.orders.contains(&case.orders));
    if cases.is_empty() {
        bail!(
            "suite `{}` has no problem of these types and orders: name others, or problems with --mnk",
            arguments.suite
        );
    }
    if arguments.search {
        for case in &mut cases {
            case.choice = Choice::All;
        }
    }
    Ok(cases)
}

/// What the report calls the problems.
#[must_use]
pub fn name(arguments: &BenchGemmArguments) -> &str {
    if arguments.mnk.is_empty() { &arguments.suite } else { "gemm" }
}

fn of_suite(name: &str) -> Result<Vec<Case>> {
    let Some(suite) = SUITES.iter().find(|suite| suite.name == name) else {
        let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        bail!("no suite `{name}`: there are {}", known.join(", "));
    };
    let mut cases = Vec::new();
    for group in suite.groups {
        let choice = Choice::First(group.kernel);
        cases.extend(combinations(group.dtypes, group.orders, group.extents, &choice));
    }
    Ok(cases)
}

fn of_extents(arguments: &BenchGemmArguments) -> Vec<Case> {
    let or = |given: &[Dtype]| if given.is_empty() { vec![Dtype::F16] } else { given.to_vec() };
    let orders = if arguments.orders.is_empty() { vec![OperandOrders::Tn] } else { arguments.orders.clone() };
    combinations(&or(&arguments.dtype), &orders, &arguments.mnk, &Choice::First(&[]))
}

fn combinations(dtypes: &[Dtype], orders: &[OperandOrders], extents: &[Extents], choice: &Choice) -> Vec<Case> {
    let mut cases = Vec::new();
    for &dtype in dtypes {
        for &orders in orders {
            let case = |&extents| Case { dtype, orders, extents, choice: choice.clone() };
            cases.extend(extents.iter().map(case));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> BenchGemmArguments {
        BenchGemmArguments {
            suite: "gemm-foundation".to_owned(),
            dtype: vec![],
            orders: vec![],
            mnk: vec![],
            search: false,
            rounds: 7,
            timeout: 1,
            json: None,
        }
    }

    #[test]
    fn the_foundation_suite_has_its_problems() {
        let cases = cases(&arguments()).unwrap();
        assert_eq!(cases.len(), 2 * (4 + 3) + 3 + 3);
        let largest = cases.iter().filter(|case| case.extents == Extents::cube(8192)).count();
        assert_eq!(largest, 2);
    }

    #[test]
    fn kernels_are_chosen_by_name_and_rank() {
        let case = &cases(&arguments()).unwrap()[0];
        let names =
            ["x_s16816gemm_f16_64x64_a_align8", "x_s16816gemm_f16_128x128_b_align8", "y_s16816gemm_128x128_align8"];
        assert_eq!(case.kernels(&names).unwrap(), [names[1]]);
        assert!(case.kernels(&names[..1]).unwrap_err().to_string().contains("_128x128_"));
        assert_eq!(Case { choice: Choice::All, ..case.clone() }.kernels(&names).unwrap(), names);
    }

    #[test]
    fn problems_are_chosen_by_type_order_and_extents() {
        let only = |dtype| BenchGemmArguments { dtype: vec![dtype], ..arguments() };
        assert_eq!(cases(&only(Dtype::F32)).unwrap().len(), 6);
        let own = cases(&BenchGemmArguments { mnk: vec![Extents::cube(64)], search: true, ..arguments() }).unwrap();
        assert!(matches!(own.as_slice(), [Case { dtype: Dtype::F16, choice: Choice::All, .. }]));
        assert!(cases(&BenchGemmArguments { suite: "none".to_owned(), ..arguments() }).is_err());
    }
}
