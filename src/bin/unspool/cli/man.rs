//! `unspool man`: manual pages, generated from the help texts.

use std::path::PathBuf;

use clap::Args;
use unspool::error::Error;

use crate::exit_code;
use crate::out::{self, Color};

/// Print the manual page, or write all manual pages to a folder
///
/// To read it right away: unspool man | man -l -
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Write one page per command to this folder, such as ~/.local/share/man/man1
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(command: clap::Command, args: &ManArgs) -> anyhow::Result<u8> {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        out::print(Color::Never, |out| out.write_all(&page))?;
        return Ok(exit_code::OK);
    };
    let failed = |error| Error::io("write manual pages to", folder, error);
    fs_err::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(command, folder).map_err(failed)?;
    out::note(&format!("wrote the manual pages to {}", folder.display()));
    Ok(exit_code::OK)
}
