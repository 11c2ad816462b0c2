//! `unspool mcp`: a server for agents that speaks MCP over stdin and stdout. Its tools only read.

mod tools;
mod arguments;
mod answer;
mod server;

use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio_pipes;

use crate::config::Config;
use crate::exit_code;
use server::Server;

/// Threads that answer calls and read stdin.
const THREADS: usize = 8;

/// Serves one client until it leaves.
pub(crate) fn serve(config: &Config) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(THREADS).build()?;
    let server = Server::new(config);
    runtime.block_on(async {
        // A client that leaves before it has said anything is not an error.
        if let Ok(running) = server.serve(stdio_pipes()).await {
            let _ = running.waiting().await;
        }
    });
    // Nobody reads the answers to calls that are still running.
    runtime.shutdown_background();
    Ok(exit_code::OK)
}
