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
use ratatui::text::{Line, Span};
use unspool::archive::conversation::{BlockSort, BlockText, Piece};
use unspool::archive::{Occurrences, OpenConversation};
use unspool::render::blocks::{Layout, can_fold};

use crate::tui::theme::Theme;

/// Laid-out blocks to keep.
const KEPT: usize = 600;
/// Lines to show above a hit.
const ABOVE: usize = 2;
/// Blocks to look through for the first line that is shown.
const FAR: usize = 5000;

type Lines = Rc<Vec<Line<'static>>>;

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
    /// Blocks that are folded or unfolded by hand, or because they contain the hit.
    folds: HashMap<usize, bool>,
    whole: HashSet<usize>,
    hits_in: HashMap<usize, usize>,
    height: usize,
    sideways: usize,
    cache: RefCell<HashMap<usize, Lines>>,
}

/// Where the next hit is.
pub(crate) enum NextHit {
    /// It is shown now. Set if the walk started again at the other end.
    Here(bool),
    /// It is in another conversation of the session: that of a subagent, or the main one.
    Elsewhere(usize, Option<String>),
    /// There is none.
    Nowhere,
}

impl Viewer {
    pub(crate) fn new(
        reading: Arc<OpenConversation>,
        found: Option<Arc<Occurrences>>,
        layout: Layout,
        theme: Theme,
    ) -> Self {
        let mut hits_in = HashMap::new();
        for block in found.iter().flat_map(|found| &found.hits).filter_map(|hit| hit.block_in(&reading)) {
            *hits_in.entry(block).or_default() += 1;
        }
        Self {
            reading,
            found,
            hit: None,
            layout,
            theme,
            top: Position::default(),
            folds: HashMap::new(),
            whole: HashSet::new(),
            hits_in,
            height: 20,
            sideways: 0,
            cache: RefCell::default(),
        }
    }

    /// Changes the layout, and keeps the place.
    pub(crate) fn set_layout(&mut self, change: impl FnOnce(&mut Layout)) {
        change(&mut self.layout);
        self.cache.borrow_mut().clear();
        self.settle();
    }

    /// Sets the size, and keeps the same text at the top when lines wrap differently.
    fn set_size(&mut self, width: usize, height: usize) {
        self.height = height;
        if self.layout.width != width {
            let old = self.lines(self.top.block).len().max(1);
            self.layout.width = width;
            self.cache.borrow_mut().clear();
            let new = self.lines(self.top.block).len();
            self.top.line = (self.top.line * new / old).min(new.saturating_sub(1));
        }
    }

    /// Returns the text of a block.
    pub(crate) fn text(&self, block: usize) -> Option<BlockText> {
        self.reading.read(block, self.whole.contains(&block)).ok()
    }

    /// Returns the lines of a block.
    fn lines(&self, block: usize) -> Lines {
        if let Some(lines) = self.cache.borrow().get(&block) {
            return lines.clone();
        }
        let lines = Rc::new(self.lay_out(block));
        let mut cache = self.cache.borrow_mut();
        if cache.len() >= KEPT {
            cache.clear();
        }
        cache.insert(block, lines.clone());
        lines
    }

    fn lay_out(&self, at: usize) -> Vec<Line<'static>> {
        let text = match self.reading.read(at, self.whole.contains(&at)) {
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
        if let Some(number) = self.hits_in.get(&at)
            && can_fold(&text)
            && open != Some(true)
            && let Some(head) = lines.iter_mut().find(|line| line.spans.iter().any(|span| span.content.contains('▸')))
        {
            let note = if *number == 1 { "1 hit  ".to_string() } else { format!("{number} hits  ") };
            // Before the summary, which may fill the line.
            let at = head.spans.iter().position(|span| span.content.contains('▸')).map_or(0, |at| at + 1);
            head.spans.insert(at, Span::styled(note, self.theme.hit()));
        }
        lines
    }

    /// Moves the place by a number of lines.
    pub(crate) fn scroll(&mut self, by: isize) {
        let Position { mut block, mut line } = self.top;
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
        self.cache.borrow_mut().remove(&block);
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
        (from..end).find(|at| self.text(*at).is_some_and(|text| can_fold(&text)) && !self.lines(*at).is_empty())
    }

    /// Reads the whole of a very long text.
    pub(crate) fn read_whole(&mut self) {
        let block = self.current();
        self.whole.insert(block);
        self.folds.insert(block, true);
        self.cache.borrow_mut().remove(&block);
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

    /// Shows a hit: opens its fold and moves to the first marked line.
    pub(crate) fn show_hit(&mut self, hit: usize) -> bool {
        let found = self.found.clone();
        let block = found.and_then(|found| found.hits.get(hit)?.block_in(&self.reading));
        self.hit = Some(hit).filter(|_| block.is_some()).or(self.hit);
        if let Some(block) = block {
            self.show_block(block);
        }
        block.is_some()
    }

    /// Opens a block and moves to its first marked line.
    pub(crate) fn show_block(&mut self, block: usize) {
        if self.text(block).is_some_and(|text| can_fold(&text)) || self.lines(block).is_empty() {
            self.folds.insert(block, true);
            self.cache.borrow_mut().remove(&block);
        }
        let hit = self.theme.hit();
        let lines = self.lines(block);
        let marked = |line: &Line<'_>| line.spans.iter().any(|span| span.style == hit);
        let mut line = lines.iter().position(marked);
        if line.is_none() && !self.whole.contains(&block) && self.found.is_some() {
            self.whole.insert(block);
            self.cache.borrow_mut().remove(&block);
            line = self.lines(block).iter().position(marked);
        }
        self.top = Position { block, line: line.unwrap_or(0) };
        self.scroll(-(ABOVE as isize));
    }

    /// Walks to the next or previous hit of the session.
    pub(crate) fn walk(&mut self, forward: bool) -> NextHit {
        let Some(found) = self.found.clone() else { return NextHit::Nowhere };
        let number = found.hits.len();
        if number == 0 {
            return NextHit::Nowhere;
        }
        let from = self.hit.unwrap_or(if forward { number - 1 } else { 0 });
        for step in 1..=number {
            let to = if forward { (from + step) % number } else { (from + number * 2 - step) % number };
            let wrapped = if forward { to <= from } else { to >= from } && self.hit.is_some();
            let hit = &found.hits[to];
            if self.show_hit(to) {
                return NextHit::Here(wrapped);
            }
            if hit.agent != self.reading.target.agent {
                return NextHit::Elsewhere(to, hit.agent.clone());
            }
        }
        NextHit::Nowhere
    }

    /// Moves to the first hit in this conversation.
    pub(crate) fn show_first_hit(&mut self) {
        let number = self.found.as_ref().map_or(0, |found| found.hits.len());
        for hit in 0..number {
            if self.show_hit(hit) {
                return;
            }
        }
    }

    /// Returns the place in the walk: `hit 3 of 13`.
    pub(crate) fn hit_label(&self) -> String {
        match (&self.found, self.hit) {
            (Some(found), Some(hit)) => format!("hit {} of {}", hit + 1, found.hits.len()),
            (Some(found), None) if !found.hits.is_empty() => format!("{} hits", found.hits.len()),
            _ => String::new(),
        }
    }

    /// Returns the prompts, each as its block and its first line.
    pub(crate) fn outline(&self) -> Vec<(usize, String)> {
        let prompts = self.reading.blocks.iter().enumerate().filter(|(_, block)| block.sort == BlockSort::Prompt);
        prompts
            .filter_map(|(at, block)| match self.reading.read(at, false).ok()?.piece {
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
        let marks: HashSet<usize> = self.hits_in.keys().map(|block| block * rows / blocks).collect();
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

    /// Returns the title of the conversation.
    pub(crate) fn title(&self) -> String {
        match &self.reading.agent {
            Some(agent) => format!("↳ {}", unspool::untrusted::one_line(&agent.title)),
            None => self.reading.session.title.line(),
        }
    }
}
