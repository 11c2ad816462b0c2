//! `unspool mcp`: serves coding agents.

use clap::Args;

use crate::config::Config;

/// Serve coding agents over MCP on stdin and stdout; the tools only read
#[derive(Args, Debug)]
pub(crate) struct McpArgs {}

pub(crate) fn run(config: &Config, _: &McpArgs) -> anyhow::Result<u8> {
    crate::mcp::serve(config)
}
