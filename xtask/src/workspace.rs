//! The workspace as cargo describes it.

use crate::cargo;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// What `cargo metadata` says.
#[derive(Deserialize)]
pub struct Workspace {
    /// The folder with the virtual manifest.
    #[serde(rename = "workspace_root")]
    pub root: PathBuf,
    /// Where cargo builds.
    #[serde(rename = "target_directory")]
    pub target: PathBuf,
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    features: BTreeMap<String, Vec<String>>,
}

impl Workspace {
    /// The members of this workspace.
    pub fn read() -> Result<Self> {
        Self::metadata(&["--no-deps"])
    }

    /// The members and everything that any of their features depends on. Downloads what is missing.
    pub fn read_with_dependencies() -> Result<Self> {
        Self::metadata(&["--all-features"])
    }

    fn metadata(options: &[&str]) -> Result<Self> {
        let mut command = cargo::command();
        command.args(["metadata", "--format-version=1"]).args(options);
        let text = cargo::output(&mut command)?;
        serde_json::from_str(&text).context("cannot understand the output of `cargo metadata`")
    }

    /// Where the host crate takes the kernels from that it embeds.
    pub fn kernels(&self) -> PathBuf {
        self.root.join("host/kernels")
    }

    /// The folder of a package.
    pub fn folder_of(&self, package: &str) -> Result<&Path> {
        let found = self.packages.iter().find(|candidate| candidate.name == package);
        let found = found.and_then(|package| package.manifest_path.parent());
        found.with_context(|| format!("no package `{package}` in the workspace's dependencies"))
    }

    /// `package/feature` for every member that has the feature.
    pub fn members_with(&self, feature: &str) -> Vec<String> {
        let members = self.packages.iter().filter(|package| package.features.contains_key(feature));
        members.map(|package| format!("{}/{feature}", package.name)).collect()
    }
}
