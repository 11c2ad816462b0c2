//! A conversation on a part of the screen: the place in it, what is unfolded, and its lines.
//!
//! Only the blocks near the place on the screen are laid out, so a session of any length opens at once. The place is a
//! block and a line in it, and survives another width.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unspool::archive::conversation::{Block, BlockSort, BlockText, Extent, Piece};
use unspool::archive::{Occurrences, OpenConversation};
use unspool::render::blocks::{Layout, can_fold};

use crate::tui::theme::{Theme, cut};
use walk::HitCounts;
pub(crate) use walk::NextHit;

mod walk;

/// Laid-out lines to keep.
const KEPT: usize = 50_000;
/// Lines to show above a hit.
const ABOVE: usize = 2;
/// Blocks to look through for the first line that is shown.
const FAR: usize = 5000;

type Lines = Rc<Vec<Line<'static>>>;

/// Laid-out blocks, up to a number of lines.
#[derive(Default)]
struct Cache {
    blocks: HashMap<usize, Lines>,
    lines: usize,
}

/// A line of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    pub(crate) block: usize,
    pub(crate) line: usize,
}

/// A conversation on the screen.
pub(crate) struct Viewer {
    pub(crate) reading: Arc<OpenConversation>,
    pub(crate) found: Option<Arc<Occurrences>>,
    /// The current hit, as an index into the hits of the whole session.
    pub(crate) hit: Option<usize>,
    pub(crate) layout: Layout,
    theme: Theme,
    /// The line at the top of the screen.
    pub(crate) top: Position,
    /// The block, and the number of its marked line, that stays on its row until the next key.
    pinned: Option<(usize, usize)>,
    /// Blocks that are folded or unfolded by hand, or because they contain the hit.
    folds: HashMap<usize, bool>,
    /// The part to read of blocks with very long texts.
    extents: HashMap<usize, Extent>,
    counts: HitCounts,
    height: usize,
    sideways: usize,
    cache: RefCell<Cache>,
}

impl Viewer {
    pub(crate) fn new(
        reading: Arc<OpenConversation>,
        found: Option<Arc<Occurrences>>,
        layout: Layout,
        theme: Theme,
    ) -> Self {
        let counts = found.as_ref().map(|found| HitCounts::new(&reading, found)).unwrap_or_default();
        Self {
            reading,
            found,
            hit: None,
            layout,
            theme,
            top: Position::default(),
            pinned: None,
            folds: HashMap::new(),
            extents: HashMap::new(),
            counts,
            height: 20,
            sideways: 0,
            cache: RefCell::default(),
        }
    }

    /// Changes the layout, and keeps the place.
    pub(crate) fn set_layout(&mut self, change: impl FnOnce(&mut Layout)) {
        change(&mut self.layout);
        self.cache.take();
        self.settle();
        self.show_pinned();
    }

    /// Sets the size, and keeps the same text at the top when lines wrap differently.
    fn set_size(&mut self, width: usize, height: usize) {
        self.height = height;
        if self.layout.width != width {
            let old = self.lines(self.top.block).len().max(1);
            self.layout.width = width;
            self.cache.take();
            let new = self.lines(self.top.block).len();
            self.top.line = (self.top.line * new / old).min(new.saturating_sub(1));
            self.show_pinned();
        }
    }

    fn show_pinned(&mut self) {
        if let Some((block, later)) = self.pinned {
            self.show_block(block, later);
        }
    }

    /// Returns the text of a block.
    pub(crate) fn text(&self, block: usize) -> Option<BlockText> {
        self.reading.read(block, self.extent(block)).ok()
    }

    fn extent(&self, block: usize) -> Extent {
        self.extents.get(&block).copied().unwrap_or_default()
    }

    /// Reads another part of a block.
    fn set_extent(&mut self, block: usize, extent: Extent) {
        if self.extent(block) != Extent::Whole && self.extents.insert(block, extent) != Some(extent) {
            self.forget(block);
        }
    }

    /// Returns the lines of a block.
    fn lines(&self, block: usize) -> Lines {
        if let Some(lines) = self.cache.borrow().blocks.get(&block) {
            return lines.clone();
        }
        let lines = Rc::new(self.lay_out(block));
        let mut cache = self.cache.borrow_mut();
        if cache.lines >= KEPT {
            *cache = Cache::default();
        }
        // A block without lines takes room as well.
        cache.lines += lines.len() + 1;
        cache.blocks.insert(block, lines.clone());
        lines
    }

    /// Lays out a block again when it is next needed.
    fn forget(&self, block: usize) {
        self.cache.borrow_mut().blocks.remove(&block);
    }

    fn lay_out(&self, at: usize) -> Vec<Line<'static>> {
        let text = match self.reading.read(at, self.extent(at)) {
            Ok(text) => text,
            Err(error) => {
                let what = unspool::untrusted::one_line(&error.to_string());
                return vec![Line::from(Span::styled(format!("  this cannot be read: {what}"), self.theme.bad()))];
            }
        };
        let before = at.checked_sub(1).map(|before| self.reading.blocks[before].sort);
        let follows =
            matches!(before, Some(BlockSort::Text | BlockSort::Thinking | BlockSort::Call | BlockSort::Result));
        let block = &self.reading.blocks[at];
        let open = self.folds.get(&at).copied();
        let mut laid = self.layout.lines(&text, open, follows);
        let is_part = matches!(block.sort, BlockSort::Call | BlockSort::Thinking) && !follows;
        if is_part && !laid.is_empty() && laid.first().is_some_and(|line| !line.is_empty()) {
            laid.splice(0..0, self.layout.turn(block.role, block.time));
        }
        let whole: Vec<String> = laid.iter().map(|line| line.iter().map(|(_, text)| text.as_str()).collect()).collect();
        let marks = match &self.found {
            Some(found) => found.marker.ranges(whole.iter().map(String::as_str)),
            None => vec![Vec::new(); whole.len()],
        };
        let mut lines: Vec<Line<'static>> =
            laid.iter().zip(&marks).map(|(line, marks)| self.theme.line(line, marks)).collect();
        if can_fold(&text) && open != Some(true) {
            self.note_hits(&mut lines, '▸', self.counts.in_block(at));
        }
        let agent = block.sent.and_then(|sent| self.reading.agents.get(sent));
        self.note_hits(&mut lines, '↳', agent.map_or(0, |agent| self.counts.in_agent(&agent.id)));
        lines
    }

    /// Moves the place by a number of lines.
    pub(crate) fn scroll(&mut self, by: isize) {
        let Position { mut block, mut line } = self.top;
        self.pinned = None;
        if by >= 0 {
            let mut left = by.unsigned_abs();
            loop {
                let height = self.lines(block).len();
                if line + left < height {
                    line += left;
                    break;
                }
                if block + 1 >= self.reading.blocks.len() {
                    line = height.saturating_sub(1);
                    break;
                }
                left -= height.saturating_sub(line).min(left);
                block += 1;
                line = 0;
            }
        } else {
            let mut left = by.unsigned_abs();
            while left > line && block > 0 {
                left -= line;
                block -= 1;
                line = self.lines(block).len();
            }
            line = line.saturating_sub(left);
        }
        self.top = Position { block, line };
    }

    /// Reports whether the end of the conversation is on the screen.
    pub(crate) fn is_at_end(&self) -> bool {
        let mut left = self.height + self.top.line;
        for block in self.top.block..self.reading.blocks.len() {
            match left.checked_sub(self.lines(block).len()) {
                Some(rest) => left = rest,
                None => return false,
            }
        }
        true
    }

    pub(crate) fn go_to_end(&mut self) {
        let last = self.reading.blocks.len().saturating_sub(1);
        self.top = Position { block: last, line: self.lines(last).len() };
        self.scroll(-(self.height as isize - 1));
    }

    pub(crate) fn go_to_top(&mut self) {
        self.pinned = None;
        self.top = Position::default();
    }

    /// Returns the block that keys act on: the one where a jump leads to.
    pub(crate) fn current(&self) -> usize {
        let mut left = ABOVE + self.top.line;
        for block in self.top.block..self.reading.blocks.len().min(self.top.block + FAR) {
            let height = self.lines(block).len();
            if left < height {
                return block;
            }
            left -= height;
        }
        self.reading.blocks.len().saturating_sub(1)
    }

    /// Moves to a block, with a little of what comes before it.
    pub(crate) fn go_to(&mut self, block: usize) {
        self.top = Position { block, line: 0 };
        self.scroll(-(ABOVE as isize - 1));
    }

    /// Moves to the next or previous block of a sort.
    pub(crate) fn jump(&mut self, forward: bool, is_wanted: impl Fn(BlockSort) -> bool) -> bool {
        let from = self.current();
        let fits = |at: &usize| is_wanted(self.reading.blocks[*at].sort) && !self.lines(*at).is_empty();
        let to = if forward { (from + 1..self.reading.blocks.len()).find(fits) } else { (0..from).rev().find(fits) };
        if let Some(to) = to {
            self.go_to(to);
        }
        to.is_some()
    }

    /// Folds or unfolds the current block, or the next one that can be.
    pub(crate) fn fold(&mut self, block: usize) {
        let is_open = self.folds.get(&block).copied().unwrap_or(self.is_open_by_default(block));
        self.folds.insert(block, !is_open);
        self.pinned = None;
        self.forget(block);
        self.settle();
    }

    fn is_open_by_default(&self, block: usize) -> bool {
        match self.reading.blocks[block].sort {
            BlockSort::Thinking => self.layout.thinking,
            _ => self.layout.tools == unspool::render::blocks::Detail::Full,
        }
    }

    /// Returns the first block on the screen from the current one on that can be folded.
    pub(crate) fn foldable(&self) -> Option<usize> {
        let from = self.current();
        let end = self.reading.blocks.len().min(from + self.height.max(1));
        (from..end).find(|at| {
            let is_fold = self.is_left_out(*at) || self.can_fold(*at);
            is_fold && !self.lines(*at).is_empty()
        })
    }

    /// Reports whether a block can be folded and unfolded.
    pub(crate) fn can_fold(&self, block: usize) -> bool {
        self.text(block).is_some_and(|text| can_fold(&text))
    }

    /// Reports whether a block replaces messages that are left out.
    pub(crate) fn is_left_out(&self, block: usize) -> bool {
        self.reading.blocks.get(block).is_some_and(|block| block.sort == BlockSort::Fold)
    }

    /// Takes the place and the folds from an earlier reading of the same conversation.
    pub(crate) fn continue_from(&mut self, old: &Self) {
        let moved = |block: usize| {
            let before = old.reading.blocks.get(block)?;
            let is_same = |block: &Block| (block.line, block.sort) == (before.line, before.sort);
            let same = self.reading.blocks.get(block).filter(|block| is_same(block)).map(|_| block);
            same.or_else(|| self.reading.blocks.iter().position(is_same))
        };
        self.top = match moved(old.top.block) {
            Some(block) => Position { block, line: old.top.line },
            None => Position { block: self.block_after(old, old.top.block), line: 0 },
        };
        self.folds = old.folds.iter().filter_map(|(block, open)| Some((moved(*block)?, *open))).collect();
        self.extents = old.extents.iter().filter_map(|(block, extent)| Some((moved(*block)?, *extent))).collect();
        self.hit = old.hit.filter(|_| self.hits() > 0);
        self.height = old.height;
        self.settle();
    }

    /// Returns the first block from the line on at which an earlier reading has a block.
    fn block_after(&self, old: &Self, block: usize) -> usize {
        let line = old.reading.blocks.get(block).map_or(0, |block| block.line);
        self.reading.block_from(line).unwrap_or(self.reading.blocks.len().saturating_sub(1))
    }

    /// Reads the whole of a very long text.
    pub(crate) fn read_whole(&mut self) {
        let block = self.current();
        self.extents.insert(block, Extent::Whole);
        self.folds.insert(block, true);
        self.forget(block);
    }

    /// Scrolls sideways, if lines are not wrapped.
    pub(crate) fn sideways(&mut self, by: isize) {
        self.sideways = self.sideways.saturating_add_signed(by);
    }

    /// Keeps the place inside its block after the block became shorter.
    fn settle(&mut self) {
        let height = self.lines(self.top.block).len();
        self.top.line = self.top.line.min(height.saturating_sub(1));
    }

    /// Opens a block and moves to its first marked line, or to a later one.
    pub(crate) fn show_block(&mut self, block: usize, later: usize) {
        if self.can_fold(block) || self.lines(block).is_empty() {
            self.folds.insert(block, true);
            self.forget(block);
        }
        let line = self.marked_line(block, later).unwrap_or(0);
        self.top = Position { block, line };
        self.scroll(-(ABOVE as isize));
        self.pinned = Some((block, later));
    }

    /// Returns a marked line of a block: the first one, or a number of them later.
    fn marked_line(&self, block: usize, later: usize) -> Option<usize> {
        let hit = self.theme.hit();
        let lines = self.lines(block);
        let marked = (0..lines.len()).filter(|at| lines[*at].spans.iter().any(|span| span.style == hit));
        let marked: Vec<usize> = marked.collect();
        marked.get(later).or(marked.last()).copied()
    }

    /// Returns the prompts, each as its block and its first line.
    pub(crate) fn outline(&self) -> Vec<(usize, String)> {
        let prompts = self.reading.blocks.iter().enumerate().filter(|(_, block)| block.sort == BlockSort::Prompt);
        prompts
            .filter_map(|(at, block)| match self.reading.read(at, Extent::Beginning).ok()?.piece {
                Piece::Message(message) => {
                    let time = block.time.map(|time| self.layout.screen.moment(time)).unwrap_or_default();
                    let start = message.text.char_indices().nth(300).map_or(message.text.len(), |(end, _)| end);
                    Some((at, format!("{time:<13} {}", unspool::untrusted::one_line(&message.text[..start]))))
                }
                _ => None,
            })
            .collect()
    }

    /// Returns the block on a row of the screen.
    pub(crate) fn block_at_row(&self, row: usize) -> Option<usize> {
        let mut left = row + self.top.line;
        for block in self.top.block..self.reading.blocks.len() {
            let height = self.lines(block).len();
            if left < height {
                return Some(block);
            }
            left -= height;
        }
        None
    }

    /// Draws the conversation, with a mark beside the current block and a map of the hits.
    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, with_map: bool) {
        let map = u16::from(with_map);
        let width = area.width.saturating_sub(1 + map);
        self.set_size(usize::from(width), usize::from(area.height));
        let current = self.current();
        let Position { mut block, line: mut skip } = self.top;
        let mut row = area.y;
        while row < area.bottom() && block < self.reading.blocks.len() {
            let lines = self.lines(block);
            for line in lines.iter().skip(skip) {
                if row >= area.bottom() {
                    break;
                }
                if block == current && with_map {
                    frame.buffer_mut().set_string(area.x, row, "▌", self.theme.key());
                }
                let place = Rect { x: area.x + 1, y: row, width, height: 1 };
                if self.layout.unwrapped && self.sideways > 0 {
                    let line = ratatui::widgets::Paragraph::new(line.clone());
                    frame.render_widget(line.scroll((0, u16::try_from(self.sideways).unwrap_or(u16::MAX))), place);
                } else {
                    frame.render_widget(line, place);
                }
                row += 1;
            }
            block += 1;
            skip = 0;
        }
        if with_map {
            self.draw_map(frame, area);
        }
    }

    /// Draws the map of the session at the right edge: its hits, and the part that is on the screen.
    fn draw_map(&self, frame: &mut Frame<'_>, area: Rect) {
        let (rows, blocks) = (usize::from(area.height), self.reading.blocks.len().max(1));
        let marks: HashSet<usize> = self.counts.blocks().map(|block| block * rows / blocks).collect();
        let here = self.top.block * rows / blocks;
        for row in 0..rows {
            let (sign, style) = match (marks.contains(&row), row == here) {
                (true, _) => ("█", self.theme.hit()),
                (false, true) => ("┃", self.theme.key()),
                (false, false) => ("│", self.theme.dim()),
            };
            let y = area.y + u16::try_from(row).unwrap_or(0);
            frame.buffer_mut().set_string(area.right().saturating_sub(1), y, sign, style);
        }
    }

    /// Returns the title of the conversation, with the words of the search marked.
    pub(crate) fn title(&self, width: usize, style: Style) -> Line<'static> {
        let title = match &self.reading.agent {
            Some(agent) => format!("↳ {}", unspool::untrusted::one_line(&agent.title)),
            None => self.reading.session.title.line(),
        };
        let title = cut(&title, width);
        let marks = self.found.as_ref().map(|found| found.marker.ranges([title.as_str()])).unwrap_or_default();
        self.theme.marked(&[(style, &title)], marks.first().map_or(&[], Vec::as_slice))
    }
}
